"""The people of the pinned series, made by a generator of our own: no library can ever change them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

DISEASES = ("asthma", "cold", "diabetes", "flu", "gastritis", "measles")
RESULTS = ("healthy", "mild", "serious", "severe", "cured")
EDUCATION = {
    "primary": "school",
    "secondary": "school",
    "vocational": "school",
    "bachelor": "higher",
    "master": "higher",
    "doctor": "higher",
}
JOBS = ("baker", "judge", "nurse", "smith", "teacher")
BLOOD = ("A", "B", "AB", "")

Row = dict[str, str]


class Dice:
    """A linear congruential generator (Knuth's MMIX), its upper bits only."""

    def __init__(self, seed: int) -> None:
        self.state = seed
        for _ in range(8):  # seeds that are near each other begin alike
            self.below(2)

    def below(self, bound: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound

    def chance(self, percent: int) -> bool:
        return self.below(100) < percent

    def one_of(self, values: Sequence[str]) -> str:
        return values[self.below(len(values))]

    def shuffled(self, values: Sequence[str]) -> list[str]:
        mixed = list(values)
        for last in range(len(mixed) - 1, 0, -1):
            other = self.below(last + 1)
            mixed[last], mixed[other] = mixed[other], mixed[last]
        return mixed


@dataclass(frozen=True)
class Crowd:
    """Who is there when."""

    size: int = 120
    releases: int = 4
    seed: int = 1
    leave: int = 15
    """Per cent of the people who leave between two releases."""
    join: int = 18
    """How many come between two releases."""
    back: int = 30
    """Per cent of those who left who return with a release."""
    moving: int = 10
    """Per cent whose zip code changes between two releases; everybody ages by a year every second release."""
    aging: bool = True
    changing: int = 0
    """Per cent whose sensitive value changes between two releases."""
    values: Sequence[str] = DISEASES
    later: Sequence[str] = ()
    """Sensitive values that only people who come later have."""
    skew: int = 0
    """Per cent who have the first value whatever they would have had."""
    late_skew: int | None = None
    """The same of people who come later, if it is another one."""
    gaps: int = 0
    """Per cent without a zip code."""
    tied: int = 0
    """Per cent of the people in the lower half of the zip codes who have the first value whatever they would have."""

    def snapshots(self) -> list[list[Row]]:
        """One list of rows for each release, in an order that tells nothing."""
        dice = Dice(self.seed)
        everyone: dict[str, Row] = {}
        here = self._arriving(dice, everyone, self.size, self.values, self.skew)
        late_skew = self.skew if self.late_skew is None else self.late_skew
        gone: list[str] = []
        listed = []
        for number in range(self.releases):
            if number:
                leaving = {name for name in here if dice.chance(self.leave)}
                returning = {name for name in gone if dice.chance(self.back)}
                new = self._arriving(dice, everyone, self.join, (*self.values, *self.later), late_skew)
                here = [name for name in here if name not in leaving] + sorted(returning) + new
                gone = [name for name in gone if name not in returning] + sorted(leaving)
                self._time_goes_by(dice, everyone, number)
            listed.append([dict(everyone[name]) for name in dice.shuffled(here)])
        return listed

    def _arriving(
        self, dice: Dice, everyone: dict[str, Row], count: int, values: Sequence[str], skew: int
    ) -> list[str]:
        names = []
        for _ in range(count):
            place = len(everyone)
            value = values[0] if dice.chance(skew) else values[place % len(values)]
            row = {"patient": f"P-{place:04d}", **dict(_traits(dice)), "disease": value}
            if self.tied and int(row["zip"]) < 10250 and dice.chance(self.tied):
                row["disease"] = values[0]
            if dice.chance(self.gaps):
                row["zip"] = ""
            everyone[row["patient"]] = row
            names.append(row["patient"])
        return names

    def _time_goes_by(self, dice: Dice, everyone: dict[str, Row], number: int) -> None:
        for row in everyone.values():
            if self.aging and number % 2 == 0:
                row["age"] = str(int(row["age"]) + 1)
            if dice.chance(self.moving) and row["zip"]:
                row["zip"] = str(10000 + dice.below(500))
            if dice.chance(self.changing):
                step = 1 if dice.chance(70) else 2
                row["disease"] = self.values[(self.values.index(row["disease"]) + step) % len(self.values)]


def _traits(dice: Dice) -> Iterator[tuple[str, str]]:
    age = 1 + (dice.below(60) + dice.below(40))
    yield "age", str(age)
    yield "zip", str(10000 + dice.below(500))
    yield "born", (date(1925, 1, 1) + timedelta(days=dice.below(30000))).isoformat()
    yield "weight", f"{40 + dice.below(60)}.{dice.below(10)}"
    yield "education", dice.one_of(tuple(EDUCATION))
    yield "gender", dice.one_of(("F", "M"))
    yield "job", dice.one_of(JOBS)
    yield "blood", dice.one_of(BLOOD)
