"""The search for differences step by step, in Python: sets of people, and the values that they share."""

from collections import Counter
from dataclasses import dataclass

from reanon_core.inference.view.traces import Traces
from reanon_core.model.history import History

Known = dict[int, int | None]
"""The value of each person of whom one is inferred; None if two are."""


@dataclass
class Cell:
    """A set of people, and the values of its rows; it may contradict what is known."""

    people: set[int]
    values: Counter[int]
    possible: bool = True

    @property
    def spare(self) -> int:
        """How many rows belong to no one in the set."""
        return self.values.total() - len(self.people)

    def copy(self) -> "Cell":
        """The same, apart."""
        return Cell(set(self.people), Counter(self.values), self.possible)


Cells = list[Cell]


class PlainSearch:
    """What is inferred by subtracting whole sets from others, in at most four turns."""

    def __init__(self, history: History, traces: Traces) -> None:
        self.known: Known = {}
        self.fewest = self.contradictions = 0
        self.releases: list[Cells] = []
        for published, row in zip(history.releases, traces.group.tolist(), strict=True):
            cells = [Cell(set(), Counter()) for _ in range(published.release.boxes.count)]
            for group, value in zip(
                published.release.group.tolist(), published.release.sensitive.tolist(), strict=True
            ):
                cells[group].values[value] += 1
            for person, group in enumerate(row):
                if group >= 0:
                    cells[group].people.add(person)
            for cell in cells:
                cell.possible = cell.spare >= 0
            self.releases.append(cells)
        self.remainders: list[Cells] = []

    def run(self) -> None:
        """Subtract and infer until nothing new is inferred."""
        for turn in range(4):
            self.remove_known()
            before = self.exposed()
            rests = []
            for index, cells in enumerate(self.releases):
                rest = [cell.copy() for cell in cells]
                for other, inner in enumerate(self.releases):
                    if other != index:
                        self.subtract([cell.copy() for cell in cells], inner)
                        self.subtract(rest, inner)
                for other, inner in enumerate(self.remainders):
                    if other != index:
                        self.subtract(rest, inner)
                rests.append(rest)
            self.remainders = rests
            if turn and before == self.exposed():
                break
        self.remove_known()
        self.contradictions += list(self.known.values()).count(None)

    def exposed(self) -> dict[int, int]:
        """Everyone whose value is known."""
        return {person: value for person, value in self.known.items() if value is not None}

    def remove_known(self) -> None:
        """Remove everyone whose value is known, each with a row, and infer, until nothing new is inferred."""
        before = None
        while before != (before := self.exposed()):
            for cells in (*self.releases, *self.remainders):
                for cell in cells:
                    for person in sorted(cell.people & before.keys()):
                        cell.people.remove(person)
                        if cell.values[before[person]]:
                            cell.values[before[person]] -= 1
                        else:
                            self.contradict(cell)
            for cells in (*self.releases, *self.remainders):
                self.infer(cells)

    def subtract(self, outer: Cells, inner: Cells) -> None:
        """Subtract all sets of a release without spare rows from the sets around them, and infer from what is left."""
        changed = []
        for cell in outer:
            inside = [one for one in inner if one.people and one.possible and not one.spare]
            inside = [one for one in inside if one.people <= cell.people]
            if not inside:
                continue
            taken = sum((one.values for one in inside), Counter())
            if cell.possible and taken <= cell.values:
                cell.values = cell.values - taken
                cell.people = cell.people.difference(*(one.people for one in inside))
            else:
                self.contradict(cell)
            changed.append(cell)
        self.infer(changed)

    def contradict(self, cell: Cell) -> None:
        """Note that the set contradicts what is known."""
        self.contradictions += cell.possible
        cell.possible = False

    def infer(self, cells: Cells) -> None:
        """Infer the value of the people of these sets where only one remains."""
        for cell in cells:
            if cell.possible and cell.people:
                values = set(+cell.values)
                self.fewest = min(self.fewest or len(values), len(values))
                for person in cell.people if len(values) == 1 else ():
                    (value,) = values
                    self.known[person] = value if self.known.get(person, value) == value else None
