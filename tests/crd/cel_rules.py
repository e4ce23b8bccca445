"""The rules that are compared with a real server: topic, schema, rule, value and outcome.

The table in docs/cel.md shows them; `make cel` evaluates all of them on a real server.
"""

from __future__ import annotations

from typing import Any

INT = {"type": "integer"}
INT_OR_STRING = {"x-kubernetes-int-or-string": True}
STRING = {"type": "string"}
DATE = {"type": "string", "format": "date-time"}
SPAN = {"type": "string", "format": "duration"}
SET = {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}


def thing(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def map_of(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


class Old:
    """A value and its old value."""

    def __init__(self, value: Any, old: Any) -> None:
        self.value, self.old = value, old

    def __repr__(self) -> str:
        return f"{self.value} after {self.old}"


MAPS = {
    "type": "array",
    "items": {**thing(k=STRING, v=INT), "required": ["k"]},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
}
PASSED, FAILED = "passed", "failed"
ODD_NAMES = {"in": 1, "x-y": 2}
BEFORE = {"a": "2019-01-01T00:00:00Z"}
# Topic, schema, rule, value, and the outcome: passed, failed, or the reason why it was not evaluated.
ROWS: list[tuple[str, dict[str, Any], str, Any, str]] = [
    ("scalars", INT, "self > 0", 1, PASSED),
    ("scalars", INT, "self > 0", 0, FAILED),
    ("scalars", {"type": "number"}, "self > 1.5", 2, PASSED),
    ("scalars", thing(a={"type": "number"}), "self.a / 2.0 == 0.5", {"a": 1}, PASSED),
    ("scalars", {"type": "string", "format": "byte"}, "self == b'hi'", "aGk=", PASSED),
    ("scalars", STRING, "self.startsWith('kube')", "kubeproto", PASSED),
    ("scalars", INT_OR_STRING, "type(self) == string ? self == '5%' : self > 1", 5, PASSED),
    ("scalars", INT, "self > 'a'", 1, "it compares integer with 'a'"),
    ("scalars", thing(a=INT), "self.a == 'x'", {"a": 1}, "it compares integer with 'x'"),
    ("scalars", thing(a=INT), "self.a / 0 == 1", {"a": 1}, FAILED),
    ("has", thing(a=INT), "has(self.a)", {"a": 0}, PASSED),
    ("has", thing(a=INT), "!has(self.a) || self.a > 5", {}, PASSED),
    ("has", thing(a=INT), "self.a > 5", {}, FAILED),
    ("has", thing(a=INT), "has(self.b)", {"a": 1}, "undefined field '.b'"),
    ("has", thing(a={**INT, "nullable": True}), "self.a == null", {"a": None}, "it compares integer with null"),  # noqa: E501
    ("has", thing(a={**INT, "nullable": True}), "has(self.a)", {"a": None}, FAILED),
    ("scalars", {"type": "number"}, "self > 1", 2, PASSED),
    ("scalars", {"type": "number"}, "self == 1", 2, "it compares number with 1"),
    ("lists", list_of(INT), "self.distinct() == [1]", [1, 1], PASSED),
    ("lists", list_of(INT), "self.sort() == [1, 2]", [2, 1], PASSED),
    ("lists", list_of(INT), "self.reverse() == [2, 1]", [1, 2], PASSED),
    ("strings", STRING, "self.reverse() == 'ba'", "ab", "it compares array with 'ba'"),
    ("sets and map lists", SET, "self == ['b', 'a']", ["a", "b"], PASSED),
    ("sets and map lists", SET, "self.all(x, x != 'c') && size(self) == 1", ["a"], PASSED),
    ("lists", list_of(STRING), "sets.intersects(self, ['a'])", ["b"], FAILED),
    ("lists", list_of(STRING), "sets.equivalent(self, ['a'])", ["a", "a"], PASSED),
    ("names", thing(**{"in": INT, "x-y": INT}), "self.__in__ + self.x__dash__y == 3", ODD_NAMES, PASSED),
    ("lists", list_of(INT), "self.all(x, x > 0)", [1, 2], PASSED),
    ("lists", list_of(STRING), "self.exists_one(x, x == 'a')", ["a", "a"], FAILED),
    ("lists", list_of(INT), "self.isSorted() && self.sum() == 6 && self.max() == 3", [1, 2, 3], PASSED),
    ("lists", list_of(INT), "self.min() > 0", [], FAILED),
    ("lists", list_of(INT), "self[3] == 1", [1], FAILED),
    ("lists", list_of(INT), "self.map(x, x * 2).filter(x, x > 2).size() == 1", [1, 2], PASSED),
    ("lists", list_of(INT), "self.indexOf(1) == 0", [1], PASSED),
    ("lists", list_of(STRING), "sets.contains(self, ['a'])", ["a"], PASSED),
    ("sets and map lists", SET, "self.exists(x, x == 'a')", ["b", "a"], PASSED),
    ("sets and map lists", SET, "self == ['a', 'b']", ["b", "a"], PASSED),
    ("sets and map lists", SET, "size(self + ['a']) == 2", ["a", "b"], PASSED),
    ("maps", map_of(INT), "self.all(k, self[k] > 0)", {"x": 1}, PASSED),
    ("maps", map_of(INT), "self['x'] == 1", {"y": 1}, FAILED),
    ("maps", map_of(INT), "'x' in self", {"y": 1}, FAILED),
    ("maps", map_of(INT), "self.all(k, v, v > 0)", {"y": 1}, PASSED),
    ("oldSelf", INT, "self >= oldSelf", Old(2, 1), PASSED),
    ("oldSelf", INT, "self >= oldSelf", Old(1, 2), FAILED),
    ("oldSelf", INT, "self >= oldSelf", 1, "there is no old value"),
    ("quantities", STRING, "quantity(self).isLessThan(quantity('2Gi'))", "1Gi", PASSED),
    ("quantities", STRING, "quantity(self) == quantity('1024Mi')", "1Gi", PASSED),
    ("quantities", STRING, "quantity(self).add(quantity('1')).sub(1).asInteger() == 1", "1", PASSED),
    ("quantities", STRING, "quantity(self).isInteger() && quantity(self).asInteger() == 1000", "1k", PASSED),
    ("quantities", STRING, "quantity(self).compareTo(quantity('2')) == 1", "1", FAILED),
    ("quantities", STRING, "quantity(self).isGreaterThan(quantity('1'))", "1", FAILED),
    ("quantities", STRING, "isQuantity(self)", "a lot", FAILED),
    ("quantities", STRING, "sign(quantity(self)) == 1", "a lot", FAILED),
    ("dates", DATE, "self > timestamp('2020-01-01T00:00:00Z')", "2021-01-01T00:00:00Z", PASSED),
    ("dates", DATE, "self.getFullYear() == 2020", "2021-01-01T00:00:00Z", FAILED),
    ("dates", thing(a=DATE, n=INT), "self.a < timestamp('2020-01-01T00:00:00Z')", BEFORE, PASSED),
    ("dates", thing(d=SPAN), "self.d < duration('1h')", {"d": "10m"}, PASSED),
    ("dates", {"type": "string", "format": "date"}, "self.getDayOfMonth() == 30", "2026-01-31", PASSED),
    ("dates", DATE, "self >= oldSelf", Old("2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z"), FAILED),
    ("dates", DATE, "self == '2021-01-01T00:00:00Z'", "2021-01-01T00:00:00Z", "it compares timestamp with '2021-01-01T00:00:00Z'"),  # noqa: E501
    ("strings", STRING, "self.find('[0-9]+') == '12'", "ab12", PASSED),
    ("strings", STRING, "self.findAll('[a-z]', 1) == ['a']", "ab", PASSED),
    ("strings", STRING, "self.matches('^a$')", "b", FAILED),
    ("strings", STRING, "self.split('-')[0].upperAscii() == 'A'", "a-b", PASSED),
    ("format", STRING, "'%s!'.format([self]) == 'a!'", "a", PASSED),
    ("format", STRING, "!format.uuid().validate(self).hasValue()", "a", FAILED),
    ("optional types", thing(a=INT), "self.?a.orValue(3) == 3", {}, PASSED),
    ("optional types", thing(a=INT), "self.?a.hasValue()", {}, FAILED),
    ("optional types", list_of(INT), "self[?9].orValue(0) == 0", [1], PASSED),
    ("addresses", STRING, "ip(self).family() == 4", "10.0.0.1", PASSED),
    ("addresses", STRING, "isIP(self)", "10.0.0.256", FAILED),
    ("addresses", STRING, "cidr('10.0.0.0/8').containsIP(self)", "11.0.0.1", FAILED),
    ("addresses", STRING, "cidr('10.0.0.0/8').containsCIDR(cidr(self))", "10.1.0.0/16", PASSED),
    ("addresses", STRING, "url(self).getHost() == 'a'", "https://a", PASSED),
    ("versions", STRING, "semver(self).major() == 1", "1.0.0", PASSED),
    ("rules that are wrong", INT, "self >", 1, "Syntax error"),
    ("rules that are wrong", INT, "self + 1", 1, "not a boolean"),
    ("rules that are wrong", INT, "true) || (true", 1, "Syntax error"),
    ("scalars", INT, "self + 1 > self", 9223372036854775807, FAILED),
    ("scalars", INT, "self > 0", 5.0, FAILED),
    ("scalars", INT, "true", 5.0, PASSED),
    ("scalars", thing(a=INT), "self.a > 0", {"a": 5.0}, FAILED),
    ("scalars", thing(a=INT), "has(self.a)", {"a": 5.0}, FAILED),
    ("scalars", thing(a=INT, b=INT), "self.b > 0", {"a": 5.0, "b": 1}, PASSED),
    ("scalars", list_of(INT), "self.exists(x, x == 5)", [5.0, 5], PASSED),
    ("scalars", list_of(INT), "self.all(x, x > 0)", [5.0], FAILED),
    ("scalars", list_of(INT), "size(self) == 1", [5.0], PASSED),
    ("scalars", {"type": "number"}, "self == 5.0", 5, PASSED),
    ("scalars", INT, "self / 2 == 2 && self % 2 == 1", 5, PASSED),
    ("scalars", INT, "double(self) / 2.0 == 2.5", 5, PASSED),
    ("scalars", INT, "self < 5.5", 5, PASSED),
    ("scalars", INT, "self == 5.0", 5, "it compares integer with 5.0"),
    ("scalars", INT, "uint(self) == 5u", 5, PASSED),
    ("scalars", INT, "-self == -5", 5, PASSED),
    ("scalars", INT, "string(self) == '5'", 5, PASSED),
    ("scalars", STRING, "int(self) == 5", "x", FAILED),
    ("scalars", {"type": "boolean"}, "self", True, PASSED),
    ("scalars", {"type": "boolean"}, "!self", True, FAILED),
    ("scalars", INT, "self ? true : false", 1, "self is of type integer, not a boolean"),
    ("scalars", STRING, "self && true", "a", "self is of type string, not a boolean"),
    ("scalars", STRING, "self == 'a' ? true : 1 / 0 == 1", "a", PASSED),
    ("scalars", STRING, "self in ['a', 'b']", "c", FAILED),
    ("scalars", STRING, "self in ['a', 1]", "a", "a list of string contains integer"),
    ("scalars", STRING, "self == \"a\" || self == r'\\d'", "\\d", PASSED),
    ("scalars", STRING, "self + 1 == 'a1'", "a", "+ has operands of the types string and integer"),
    ("scalars", STRING, "self + '1' == 'a1'", "a", PASSED),
    ("scalars", INT_OR_STRING, "self == 5", "5%", FAILED),
    ("scalars", INT_OR_STRING, "type(self) == int", 5, PASSED),
    ("has", thing(a=thing(b=INT)), "has(self.a.b)", {}, FAILED),
    ("has", thing(a=thing(b=INT)), "has(self.a) && has(self.a.b)", {}, FAILED),
    ("has", thing(a=thing(b=INT)), "self.a.c == 1", {"a": {}}, "undefined field '.a.c'"),
    ("has", thing(a=STRING), "self.a.b == 1", {"a": "x"}, "undefined field '.a.b'"),
    ("has", thing(a=STRING), "has(self)", {"a": "x"}, "invalid argument to has() macro"),
    ("has", thing(a=STRING), "self.a == null", {"a": "x"}, "it compares string with null"),
    ("has", thing(a=INT, b=STRING), "self.a == self.b", {"a": 1, "b": "1"}, "it compares integer with string"),  # noqa: E501
    ("has", thing(a=INT, b={"type": "number"}), "self.a < self.b", {"a": 1, "b": 1.5}, PASSED),
    ("has", thing(a=INT, b={"type": "number"}), "self.a + self.b > 1.0", {"a": 1, "b": 1.5}, "+ has operands of the types integer and number"),  # noqa: E501
    ("has", thing(a=thing(b=INT), c=thing(b=INT)), "self.a == self.c", {"a": {"b": 1}, "c": {"b": 1}}, "it compares object with object"),  # noqa: E501
    ("lists", list_of(INT), "self == [1, 2]", [2, 1], FAILED),
    ("lists", list_of(INT), "self + [3] == [1, 3]", [1], PASSED),
    ("lists", list_of(STRING), "self.indexOf('b') == 1 && self.lastIndexOf('b') == 2", ["a", "b", "b"], PASSED),  # noqa: E501
    ("lists", list_of(STRING), "self.lastIndexOf('c') == -1", ["a"], PASSED),
    ("lists", list_of(STRING), "self.join('-') == 'a-b'", ["a", "b"], PASSED),
    ("lists", list_of(list_of(INT)), "self.flatten() == [1, 2]", [[1], [2]], PASSED),
    ("lists", list_of(INT), "self.slice(1, 3) == [2, 3]", [1, 2, 3], PASSED),
    ("lists", list_of(INT), "self.slice(1, 9) == []", [1, 2, 3], FAILED),
    ("lists", list_of(INT), "lists.range(3) == self", [0, 1, 2], PASSED),
    ("lists", list_of(INT), "self.first().value() == 1", [1, 2], PASSED),
    ("lists", list_of(INT), "self.last().value() == 2", [1, 2], PASSED),
    ("lists", list_of(INT), "self.first().hasValue()", [], FAILED),
    ("lists", list_of(thing(n=INT)), "self.sortBy(e, -e.n)[0].n == 3", [{"n": 1}, {"n": 3}], PASSED),
    ("lists", list_of(thing(n=INT)), "self.map(e, e.n).sum() == 4", [{"n": 1}, {"n": 3}], PASSED),
    ("lists", list_of(thing(n=INT)), "self.all(e, e.m > 0)", [{"n": 1}], "undefined field 'e.m'"),
    ("lists", list_of(thing(n=INT)), "self.filter(e, has(e.n)).size() == 1", [{"n": 1}, {}], PASSED),
    ("lists", list_of(thing(n=INT)), "self.map(e, has(e.n), e.n) == [1]", [{"n": 1}, {}], PASSED),
    ("lists", list_of(INT), "self.exists(x, x / 0 == 1)", [1], FAILED),
    ("lists", list_of(INT), "self.exists(x, x / (x - 1) == 2)", [1, 2], PASSED),
    ("lists", list_of(INT), "self.all(x, y, x < y)", [1, 2], PASSED),
    ("lists", list_of(INT), "self.all(i, x, x == i + 2)", [1, 2], FAILED),
    ("lists", list_of(INT), "self.exists(i, x, i == 1 && x == 2)", [1, 2], PASSED),
    ("lists", list_of(INT), "self.existsOne(i, x, i >= 0)", [1, 2], FAILED),
    ("lists", list_of(INT), "self.transformList(i, x, i * x) == [0, 2]", [1, 2], PASSED),
    ("lists", list_of(INT), "self.transformList(i, x, i > 0, x) == [2]", [1, 2], PASSED),
    ("lists", list_of(INT), "self.transformMap(i, x, x + 1)[1] == 3", [1, 2], PASSED),
    ("lists", list_of(INT), "self.min() == 1 && self.contains(1)", [1, 2], "found no matching overload for 'contains'"),  # noqa: E501
    ("lists", list_of(INT), "self.size() > 'a'", [1, 2], "it compares integer with 'a'"),
    ("maps", map_of(INT), "self.exists(k, v, k == 'x' && v == 1)", {"x": 1}, PASSED),
    ("maps", map_of(INT), "self.existsOne(k, v, v == 1)", {"x": 1, "y": 1}, FAILED),
    ("maps", map_of(INT), "self.all(k, v, v / (v - 1) > 0)", {"x": 1}, FAILED),
    ("maps", map_of(INT), "self.transformMap(k, v, v + 1) == {'x': 2}", {"x": 1}, PASSED),
    ("maps", map_of(INT), "self.transformMap(k, v, v > 1, v) == {'y': 2}", {"x": 1, "y": 2}, PASSED),
    ("maps", map_of(INT), "self.transformMapEntry(k, v, {v: k}) == {1: 'x'}", {"x": 1}, PASSED),
    ("maps", map_of(INT), "self.transformMapEntry(k, v, {v: k}).size() == 2", {"x": 1, "y": 1}, FAILED),
    ("maps", map_of(INT), "self.transformList(k, v, k + string(v)) == ['x1']", {"x": 1}, PASSED),
    ("maps", map_of(INT), "self == {'x': 1}", {"x": 1}, PASSED),
    ("maps", map_of(INT), "self.x == 1", {"x": 1}, PASSED),
    ("maps", map_of(INT), "has(self.y)", {"x": 1}, FAILED),
    ("maps", map_of(list_of(INT)), "self.all(k, l, l.all(i, x, x > i))", {"x": [1, 2]}, PASSED),
    ("maps", map_of(DATE), "self.all(k, v, v > timestamp('2020-01-01T00:00:00Z'))", {"x": "2021-01-01T00:00:00Z"}, PASSED),  # noqa: E501
    ("maps", map_of(INT), "self.all(k, v, v > 'a')", {"x": 1}, "it compares integer with 'a'"),
    ("sets and map lists", SET, "['b', 'a'] == self", ["a", "b"], FAILED),
    ("sets and map lists", SET, "self != ['b', 'a']", ["a", "b"], FAILED),
    ("sets and map lists", SET, "self == ['a', 'c']", ["a", "b"], FAILED),
    ("sets and map lists", SET, "self == oldSelf", Old(["b", "a"], ["a", "b"]), PASSED),
    ("sets and map lists", SET, "self + ['c', 'a', 'c'] == ['c', 'a']", ["a"], PASSED),
    ("sets and map lists", SET, "(self + ['c', 'a', 'c']).size() == 2", ["a"], PASSED),
    ("sets and map lists", SET, "['c'] + self == ['c', 'a']", ["a"], PASSED),
    ("sets and map lists", SET, "self.filter(x, true) == ['b', 'a']", ["a", "b"], FAILED),
    ("sets and map lists", SET, "self.map(x, x) == ['a', 'b']", ["a", "b"], PASSED),
    ("sets and map lists", SET, "sets.equivalent(self, ['b', 'a'])", ["a", "b"], PASSED),
    ("sets and map lists", SET, "dyn(self) == ['b', 'a']", ["a", "b"], "at unknown paths"),
    ("sets and map lists", SET, "'b' in self", ["a", "b"], PASSED),
    ("sets and map lists", SET, "self[0] == 'a'", ["b", "a"], FAILED),
    ("sets and map lists", thing(s=SET, t=SET), "self.s == self.t", {"s": ["a", "b"], "t": ["b", "a"]}, PASSED),  # noqa: E501
    ("sets and map lists", thing(s=SET), "self == oldSelf", Old({"s": ["a", "b"]}, {"s": ["b", "a"]}), PASSED),  # noqa: E501
    ("sets and map lists", thing(s=SET), "{'s': ['b', 'a']} == self", {"s": ["a", "b"]}, "it compares object with object"),  # noqa: E501
    ("sets and map lists", thing(s=SET), "[self.s] == [['b', 'a']]", {"s": ["a", "b"]}, PASSED),
    ("sets and map lists", thing(s=SET), "(has(self.s) ? self.s : []) == ['b', 'a']", {"s": ["a", "b"]}, PASSED),  # noqa: E501
    ("sets and map lists", list_of(thing(s=SET)), "self[0] == self[1]", [{"s": ["a", "b"]}, {"s": ["b", "a"]}], PASSED),  # noqa: E501
    ("sets and map lists", list_of(thing(s=SET)), "self[0] in self", [{"s": ["a", "b"]}], PASSED),
    ("sets and map lists", list_of(thing(s=SET)), "self.all(x, x == self[0])", [{"s": ["a", "b"]}, {"s": ["b", "a"]}], PASSED),  # noqa: E501
    ("sets and map lists", MAPS, "self == oldSelf", Old([{"k": "a", "v": 1}, {"k": "b"}], [{"k": "b"}, {"k": "a", "v": 1}]), PASSED),  # noqa: E501
    ("sets and map lists", MAPS, "self == oldSelf", Old([{"k": "a", "v": 1}], [{"k": "a", "v": 2}]), FAILED),
    ("sets and map lists", MAPS, "size(self + oldSelf) == 2", Old([{"k": "a", "v": 1}], [{"k": "a", "v": 2}, {"k": "b"}]), PASSED),  # noqa: E501
    ("sets and map lists", MAPS, "(self + oldSelf)[0].v == 2", Old([{"k": "a", "v": 1}], [{"k": "a", "v": 2}, {"k": "b"}]), PASSED),  # noqa: E501
    ("sets and map lists", MAPS, "self == [{'k': 'a'}]", [{"k": "a"}], "== of a stored list of type map and a list that a rule creates is not supported"),  # noqa: E501
    ("sets and map lists", MAPS, "self.exists(x, x.k == 'a')", [{"k": "a"}], PASSED),
    ("oldSelf", thing(a=INT), "self.a == oldSelf.a", Old({"a": 1}, {"a": 2}), FAILED),
    ("oldSelf", thing(a=STRING), "!has(oldSelf.a) || has(self.a)", Old({}, {"a": "x"}), FAILED),
    ("oldSelf", list_of(STRING), "oldSelf.all(x, x in self)", Old(["b"], ["a", "b"]), FAILED),
    ("quantities", STRING, "quantity(self).add(quantity('500m')).isGreaterThan(quantity('1'))", "600m", PASSED),  # noqa: E501
    ("quantities", STRING, "quantity(self).asInteger() == 1", "1500m", FAILED),
    ("quantities", STRING, "quantity(self).asApproximateFloat() == 1.5", "1500m", PASSED),
    ("quantities", STRING, "quantity(self).sign() == -1", "-1", "undeclared reference to 'sign'"),
    ("quantities", STRING, "quantity(self) > quantity('1')", "2", "it compares quantity with quantity"),
    ("quantities", STRING, "isQuantity(self)", "1.5e3Mi", FAILED),
    ("dates", DATE, "self.getHours() == 9 && self.getMinutes('+01:00') == 30", "2026-01-31T09:30:00Z", PASSED),  # noqa: E501
    ("dates", DATE, "self.getDayOfWeek() == 6 && self.getMonth() == 0 && self.getDate() == 31", "2026-01-31T09:30:00Z", PASSED),  # noqa: E501
    ("dates", DATE, "self + duration('1h') > timestamp('2026-01-31T10:00:00Z')", "2026-01-31T09:30:00Z", PASSED),  # noqa: E501
    ("dates", DATE, "self - timestamp('2026-01-31T09:00:00Z') == duration('30m')", "2026-01-31T09:30:00Z", PASSED),  # noqa: E501
    ("dates", DATE, "string(self) == '2026-01-31T09:30:00Z'", "2026-01-31T09:30:00Z", PASSED),
    ("dates", SPAN, "self.getSeconds() == 90", "1m30s", PASSED),
    ("dates", SPAN, "self <= duration('1m')", "90s", FAILED),
    ("dates", {"type": "string", "format": "date"}, "self.getFullYear() == 2026", "2026-01-31", PASSED),
    ("dates", list_of(DATE), "self[0] < self[1]", ["2026-01-31T09:30:00Z", "2026-01-31T09:31:00Z"], PASSED),
    ("strings", STRING, "self.charAt(1) == 'b'", "ab", PASSED),
    ("strings", STRING, "self.charAt(9) == 'b'", "ab", FAILED),
    ("strings", STRING, "self.indexOf('b') == 1 && self.lastIndexOf('b') == 2", "abb", PASSED),
    ("strings", STRING, "self.replace('a', 'b', 1) == 'ba'", "aa", PASSED),
    ("strings", STRING, "self.substring(1, 2) == 'b'", "abc", PASSED),
    ("strings", STRING, "self.trim() == 'a' && self.lowerAscii() == ' a '", " A ", FAILED),
    ("strings", STRING, "size(self) == 1", "\u00e4", PASSED),
    ("strings", STRING, "self.contains('b') && self.endsWith('c')", "abc", PASSED),
    ("strings", STRING, "self.matches('(?=a)')", "a", "invalid matches argument"),
    ("strings", STRING, "self.matches('^[a-z]+$')", "a\n", FAILED),
    ("strings", STRING, "self.findAll('[0-9]') == ['1', '2']", "1a2", PASSED),
    ("strings", STRING, "self.split(',', 2) == ['a', 'b,c']", "a,b,c", PASSED),
    ("strings", STRING, "strings.quote(self) == '\"a\"'", "a", PASSED),
    ("strings", STRING, "base64.encode(b'hi') == self", "aGk=", "undeclared reference to 'base64'"),
    ("format", STRING, "'%d %x %.1f %s'.format([1, 255, 1.5, true]) == self", "1 ff 1.5 true", PASSED),
    ("format", STRING, "!format.dns1123Label().validate(self).hasValue()", "a.b", FAILED),
    ("format", STRING, "!format.dns1123Label().validate(self).hasValue()", "a-b", PASSED),
    ("format", STRING, "!format.dns1123Subdomain().validate(self).hasValue()", "a.b", PASSED),
    ("format", STRING, "!format.dns1035Label().validate(self).hasValue()", "1a", FAILED),
    ("format", STRING, "!format.dns1123LabelPrefix().validate(self).hasValue()", "a-", PASSED),
    ("format", STRING, "!format.qualifiedName().validate(self).hasValue()", "a.b/c/d", FAILED),
    ("format", STRING, "!format.labelValue().validate(self).hasValue()", "", PASSED),
    ("format", STRING, "!format.uri().validate(self).hasValue()", "a b", FAILED),
    ("format", STRING, "!format.byte().validate(self).hasValue()", "aGk=", PASSED),
    ("format", STRING, "!format.date().validate(self).hasValue()", "2026-02-30", FAILED),
    ("format", STRING, "!format.datetime().validate(self).hasValue()", "2026-01-31T09:30:00Z", PASSED),
    ("format", STRING, "!format.uuid().validate(self).hasValue()", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", PASSED),  # noqa: E501
    ("format", STRING, "format.dns1123Label().validate(self).value() == ['must not contain dots']", "a.b", PASSED),  # noqa: E501
    ("format", STRING, "format.named(self).hasValue()", "uuid", PASSED),
    ("format", STRING, "format.named(self).hasValue()", "nope", FAILED),
    ("format", STRING, "!format.named('uuid').value().validate(self).hasValue()", "x", FAILED),
    ("format", STRING, "format.named('dns1035Label').optMap(f, f.validate(self).hasValue()).orValue(false)", "1", PASSED),  # noqa: E501
    ("optional types", thing(a=INT), "self.?a.optMap(x, x + 1).orValue(0) == 2", {"a": 1}, PASSED),
    ("optional types", thing(a=thing(b=INT)), "self.?a.?b.orValue(7) == 7", {}, PASSED),
    ("optional types", thing(a=thing(b=INT)), "self.?a.b.orValue(7) == 7", {}, PASSED),
    ("optional types", thing(a=INT), "self.?b.hasValue()", {}, "undefined field '.?b'"),
    ("optional types", thing(a=INT), "self.?a.value() == 1", {}, FAILED),
    ("optional types", thing(a=INT), "optional.of(1) == self.?a", {"a": 1}, PASSED),
    ("optional types", thing(a=INT), "[?self.?a] == []", {}, PASSED),
    ("optional types", map_of(INT), "self[?'x'].orValue(1) == 1", {}, PASSED),
    ("optional types", thing(s=SET), "self.?s.orValue([]) == ['b', 'a']", {"s": ["a", "b"]}, PASSED),
    ("addresses", STRING, "ip(self).isLoopback()", "127.0.0.1", PASSED),
    ("addresses", STRING, "ip(self).isUnspecified()", "::", PASSED),
    ("addresses", STRING, "ip.isCanonical(self)", "2001:db8::0", FAILED),
    ("addresses", STRING, "ip(self) == ip('2001:db8::')", "2001:db8::0", PASSED),
    ("addresses", STRING, "cidr(self).prefixLength() == 8", "10.0.0.0/8", PASSED),
    ("addresses", STRING, "cidr(self).masked() == cidr('10.0.0.0/8')", "10.1.2.3/8", PASSED),
    ("addresses", STRING, "cidr(self).ip().family() == 4", "10.0.0.0/8", PASSED),
    ("addresses", STRING, "isCIDR(self)", "10.0.0.0/33", FAILED),
    ("addresses", STRING, "ip(self).isGlobalUnicast()", "8.8.8.8", PASSED),
    ("addresses", STRING, "ip(self).isLinkLocalUnicast()", "169.254.0.1", PASSED),
    ("addresses", STRING, "ip(self).isLinkLocalMulticast()", "224.0.0.1", PASSED),
    ("addresses", STRING, "string(ip(self)) == '10.0.0.1'", "10.0.0.1", PASSED),
    ("urls", STRING, "url(self).getHostname() == '::1' && url(self).getPort() == '80'", "https://[::1]:80/", PASSED),  # noqa: E501
    ("urls", STRING, "url(self).getHost() == '[::1]:80'", "https://[::1]:80/", PASSED),
    ("urls", STRING, "url(self).getScheme() == 'https'", "HTTPS://a", PASSED),
    ("urls", STRING, "url(self).getEscapedPath() == '/path%20with%20spaces/'", "https://a/path with spaces/", PASSED),  # noqa: E501
    ("urls", STRING, "url(self).getQuery() == {'k': ['a'], 'l': ['b', 'c']}", "https://a/p?k=a&l=b&l=c", PASSED),  # noqa: E501
    ("urls", STRING, "url(self).getQuery()['a b'] == ['c d']", "https://a/p?a+b=c%20d#f", PASSED),
    ("urls", STRING, "url(self) == url('https://a/')", "https://a/", PASSED),
    ("urls", STRING, "url(self).getHost() == 'a'", "../relative", FAILED),
    ("urls", STRING, "isURL(self)", "https://a:b:c/", FAILED),
    ("urls", STRING, "isURL(self)", "/absolute", PASSED),
    ("urls", STRING, "isURL(self)", "../relative", FAILED),
    ("urls", STRING, "isURL(self)", "https://user:pass@a:80/p?q#f", PASSED),
    ("urls", STRING, "isURL(self)", "http://a/%zz", FAILED),
    ("urls", STRING, "isURL(self)", "mailto:a@b", PASSED),
    ("versions", STRING, "semver(self).isLessThan(semver('1.2.10'))", "1.2.9", PASSED),
    ("versions", STRING, "semver(self).isGreaterThan(semver('1.0.0-rc.1'))", "1.0.0-beta.11", FAILED),
    ("versions", STRING, "semver(self).compareTo(semver('1.0.0+b')) == 0", "1.0.0+a", PASSED),
    ("versions", STRING, "semver(self) == semver('1.0.0+b')", "1.0.0+a", PASSED),
    ("versions", STRING, "isSemver(self)", "v1.0", FAILED),
    ("versions", STRING, "isSemver(self, true)", "v1.0", PASSED),
    ("versions", STRING, "isSemver(self)", "01.1.1", FAILED),
    ("versions", STRING, "semver(self, true) == semver('1.1.1')", "01.01.01", PASSED),
    ("versions", STRING, "semver(self).patch() == 3", "200K", FAILED),
    ("versions", STRING, "semver(self).minor() == 2", "1.2.3-a.1+b", PASSED),
    ("names", thing(namespace=INT), "self.__namespace__ == 1", {"namespace": 1}, PASSED),
    ("names", thing(**{"a.b/c": INT}), "self.a__dot__b__slash__c == 1", {"a.b/c": 1}, PASSED),
    ("names", thing(a__b=INT), "self.a__underscores__b == 1", {"a__b": 1}, PASSED),
    ("names", thing(**{"1a": INT}), "has(self.x)", {"1a": 1}, "undefined field '.x'"),
    ("rules that are wrong", INT, "self.in == 1", 1, "Syntax error: mismatched input 'in' expecting an identifier"),  # noqa: E501
    ("rules that are wrong", INT, "for > 1", 1, "reserved identifier: for"),
    ("rules that are wrong", INT, "self > 1 // and so on", 2, PASSED),
    ("rules that are wrong", INT, "nothing > 1", 2, "undeclared reference to 'nothing'"),
    ("rules that are wrong", INT, "self.nothing() > 1", 2, "undeclared reference to 'nothing'"),
    ("rules that are wrong", INT, "self == 1 ? self == 2 ? true : false : true", 2, "Syntax error: mismatched input '?' expecting ':'"),  # noqa: E501
    ("rules that are wrong", INT, "kp_int(self) == 1", 2, "undeclared reference to 'kp_int'"),
    ("rules that are wrong", INT, "[1, 'a'].size() == 2", 2, "a list of integer contains string"),
    ("rules that are wrong", INT, "{'a': 1, 'b': 'x'}.size() == 2", 2, "a map of integer contains string"),
    ("rules that are wrong", STRING, "self.matches('[')", "a", "invalid matches argument"),
    ("rules that are wrong", INT, "duration('x') < duration('1s')", 2, "invalid duration argument"),
]  # fmt: skip
