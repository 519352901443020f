"""Parameters of techniques and checks that are of a wrong type: a sentence, whatever it is."""

from contextlib import suppress
from dataclasses import MISSING, fields

import pytest

from reanon_core.catalog import CHECKS, TECHNIQUES, build_check, build_technique
from reanon_core.model.errors import InvalidParameter

ODD = ("x", "", None, True, [1], {}, -1, 0, 1.5, float("inf"), float("nan"), 10**30)


@pytest.mark.parametrize(
    ("classes", "build"), [(CHECKS, build_check), (TECHNIQUES, build_technique)], ids=["checks", "techniques"]
)
def test_an_odd_parameter_is_accepted_or_refused_with_a_sentence(classes, build) -> None:
    for name, kind in classes.items():
        known = [field for field in fields(kind) if field.init]
        needed = {one.name: 2 for one in known if one.default is MISSING and one.default_factory is MISSING}
        for field in known:
            for value in ODD:
                with suppress(InvalidParameter):
                    build(name, {**needed, field.name: value})


def test_the_sentence_names_the_parameter_and_its_rule() -> None:
    with pytest.raises(InvalidParameter, match=r"check k-anonymity: k \(x\) must be a whole number"):
        build_check("k-anonymity", {"k": "x"})
    with pytest.raises(InvalidParameter, match=r"technique mondrian: t \(x\) must be a number"):
        build_technique("mondrian", {"k": 2, "ell": 2, "t": "x"})
