"""Names and labels that file formats trip over, and what a file must give back, for the exchange tests."""

from __future__ import annotations

from math import inf, nan

import numpy as np
from scipy.special import softmax

from bnplug import LogTables

NAMES = [
    *("petal length (cm)", "größe", "年齢", "возраст", "العمر", "x", "X", "1st", "2", "-1", "2.5", "1e5"),
    *("a,b", "a;b", "a|b", "a{b}", "a}\nb", "a[0]", 'say "hi"', '"', "it's", "a/b", "a//b", "/* a */", "a\\b"),
    *("a=b", "a&b<c>", "]]>", "&amp;", "50%", "%20", "a.b", "a-b", "a?b", "_", "", " ", " lead", "trail ", "b  c"),
    *("tab\there", "line\nbreak", "return\r", "nul\0", "bell\a", "no\u00a0break", "\ufeffbom", "e\u0301", "\u00e9"),
    *("😀", "\ud800", "table", "table1", "vegetable5", "Table", "default", "default.e", "variable", "my variable"),
    *("probability", "property", "property_x", "network", "type", "discrete", "x_2", "X_2", "unused", "bnplug_name"),
    *(
        "a" * 300,
        "é" * 300,
        "b" * 17_000,
        "\uffff",
        "\u202eright to left",
        "日 本",
        "a\u2028b",
        "--",
        "(",
        ")",
        "()",
        "$HOME",
        "#1",
    ),
]

LABELS = [
    [True, False],
    [False, True, "True"],
    [1, "1", 1.5, "1.5", -1],
    [-2, -1, 0, 1, 2],
    [-1.5, 1.5, 1e-07, -0.0, 0.0, inf, -inf, nan, 1e300, 0.1 + 0.2],
    ["(0.1, 0.5]", "(-inf, 0.1]", "(0.5, inf)", "[1,2]", "{a}", "<5", ">=5", "5-10", "10+"],
    ["", " ", "  ", "\t", "\n", "\r\n", "a b", "a  b", " a", "a "],
    ["a,b", "a;b", "a)b", "a}b", "a|b", "a/b", "a//b", "/*", "*/", "a\\b", "a=b", "%41", "A", "*", "?"],
    ['"', '""', '"a"', "'a'", "it's", "`", "&lt;", "<b>", "]]>", "<!-- -->"],
    ["table", "default", "stable", "table 1", "type", "property", "properties", "probability", "variable", "None"],
    ["a", "A", "ä", "a\u0308", "å", "日本", "日 本", "😀", "да", "لا", "_", "x", "x_2", "\ud800", "\0", "\x85"],
    ["007", "7", "+7", "-7", "7.", "7e1", "0x7", "7_0", "٧", "1/2", "50%", "$5"],
    ["y" * 17_000, "y" * 17_001, "é" * 3_000, "7" * 17_000],
    ["unused"],
    [3],
    ["only one, with a comma"],
    [2**70, -(2**70), 0],
]


# As Weka's Bayes net editor writes it: its own DTD, positions, nominal intervals in quotes, tables with a row for
# each configuration of the parents, the last of which changes fastest.
WEKA = """<?xml version="1.0"?>
<!-- DTD for the XMLBIF 0.3 format -->
<!DOCTYPE BIF [
\t<!ELEMENT BIF ( NETWORK )*>
\t      <!ATTLIST BIF VERSION CDATA #REQUIRED>
\t<!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
\t<!ELEMENT NAME (#PCDATA)>
\t<!ELEMENT VARIABLE ( NAME, ( OUTCOME |  PROPERTY )* ) >
\t      <!ATTLIST VARIABLE TYPE (nature|decision|utility) "nature">
\t<!ELEMENT OUTCOME (#PCDATA)>
\t<!ELEMENT DEFINITION ( FOR | GIVEN | TABLE | PROPERTY )* >
\t<!ELEMENT FOR (#PCDATA)>
\t<!ELEMENT GIVEN (#PCDATA)>
\t<!ELEMENT TABLE (#PCDATA)>
\t<!ELEMENT PROPERTY (#PCDATA)>
]>
<BIF VERSION="0.3">
<NETWORK>
<NAME>iris-weka.filters.supervised.attribute.Discretize-Rfirst-last</NAME>
<VARIABLE TYPE="nature">
<NAME>petallength</NAME>
<OUTCOME>&apos;\\&apos;(-inf-2.45]\\&apos;&apos;</OUTCOME>
<OUTCOME>&apos;\\&apos;(2.45-inf)\\&apos;&apos;</OUTCOME>
<PROPERTY>position = (0,100)</PROPERTY>
</VARIABLE>
<VARIABLE>
<NAME>sepal &amp; more</NAME>
<OUTCOME>a</OUTCOME>
<OUTCOME>b</OUTCOME>
<OUTCOME>c</OUTCOME>
</VARIABLE>
<VARIABLE TYPE="nature">
<NAME>class</NAME>
<OUTCOME>Iris-setosa</OUTCOME>
<OUTCOME>Iris-versicolor</OUTCOME>
<PROPERTY>position = (0,0)</PROPERTY>
</VARIABLE>
<DEFINITION>
<FOR>petallength</FOR>
<GIVEN>class</GIVEN>
<TABLE>
0.75 0.25
0.125 0.875
</TABLE>
</DEFINITION>
<DEFINITION>
<FOR>sepal &amp; more</FOR>
<GIVEN>class</GIVEN>
<GIVEN>petallength</GIVEN>
<TABLE>
0.5 0.25 0.25 <!-- setosa, short -->
0.1 0.2 0.7
0.3 0.3 0.4
1.0E-4 0.9998 1.0E-4
</TABLE>
</DEFINITION>
<DEFINITION>
<FOR>class</FOR>
<TABLE>
0.5 0.5
</TABLE>
</DEFINITION>
</NETWORK>
</BIF>
"""


# As GeNIe writes it: a comment, sizes of samples, a deterministic node, properties, drawings in submodels.
GENIE = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!-- This network was drawn by hand -->
<smile version="1.0" id="Network1" numsamples="10000" discsamples="10000">
\t<nodes>
\t\t<cpt id="Smoking" diagtype="observation" ranked="true">
\t\t\t<state id="Never" />
\t\t\t<state id="Before" />
\t\t\t<state id="Now" fault="true" />
\t\t\t<probabilities>0.5 0.2 0.3</probabilities>
\t\t\t<property id="literature">a &lt;source&gt;</property>
\t\t</cpt>
\t\t<cpt id="Sex">
\t\t\t<state id="Female" />
\t\t\t<state id="Male" />
\t\t\t<probabilities>0.5 0.5</probabilities>
\t\t</cpt>
\t\t<cpt id="Cancer">
\t\t\t<state id="Present" />
\t\t\t<state id="Absent" />
\t\t\t<parents>Smoking Sex</parents>
\t\t\t<probabilities>0.001 0.999 0.05 0.95 0.01 0.99 0.2 0.8 0.1 0.9 0.3 0.7</probabilities>
\t\t</cpt>
\t\t<deterministic id="Either">
\t\t\t<state id="No" />
\t\t\t<state id="Yes" />
\t\t\t<parents>Smoking Cancer</parents>
\t\t\t<resultingstates>No No No Yes Yes Yes</resultingstates>
\t\t</deterministic>
\t</nodes>
\t<extensions>
\t\t<genie version="1.0" app="GeNIe 4.0.1922.0" name="Network1" faultnameformat="nodestate">
\t\t\t<node id="Smoking">
\t\t\t\t<name>Smoking</name>
\t\t\t\t<interior color="e5f6f7" />
\t\t\t\t<position>10 10 120 60</position>
\t\t\t</node>
\t\t\t<submodel id="Sub1">
\t\t\t\t<name>a part</name>
\t\t\t\t<node id="Sex"><name>Sex</name></node>
\t\t\t</submodel>
\t\t</genie>
\t</extensions>
</smile>
"""

# As Hugin writes it: one class, attributes of its editor, intervals and numbers without labels, quotes behind a
# backslash, comments behind each column, weights instead of probabilities, and no data where all weights are the same.
HUGIN = """class Drawn_by_hand
{
    inputs = ();
    outputs = ();
    node_size = (80 40);
    HR_Font_Name = "javax.swing.plaf.FontUIResource[family=Tahoma]";
    HR_HTML_Desc = "<b style=\\"x; } %\\">
    two lines</b>";

    node Season
    {
\tlabel = "100% of the year";
\tposition = (984 176);
\tstates = ("From spring" "the \\"end\\"");
\tHR_State_0 = "";
    }

    discrete node Depth
    {
\tstates = ("" "");
\tsubtype = interval;
\tstate_values = (0 10 60);
    }

    node Seen
    {
\tstates = ("Early" "Middle" "Late");
    }

    node Lights
    {
\tstates = ("" "");
\tsubtype = number;
\tstate_values = (0 1.5);
    }

    potential (Season)
    {
\tdata = ( 1 1 );
    }

    potential (Depth)
    {
\tdata = ( 0.25 0.75 );
    }

    potential (Seen | Season Depth)
    {
\tdata = ((( 0.05 0.5 0.6 )\t%  Season=From spring  Depth=0 - 10
\t\t ( 0.2 0.3 0.5 ))\t%  Season=From spring  Depth=10 - 60
\t\t(( 0 0 1 )\t%  Season=the "end"  Depth=0 - 10
\t\t ( 0.333333 0.333333 0.333333 )));\t%  Season=the "end"  Depth=10 - 60
    }

    potential (Lights | Depth)
    {
    }
} % class Drawn_by_hand
"""


def random_tables(names, states, parents, seed=0, target=None):
    """Log tables whose columns are alike enough for posteriors that are not 0 or 1."""
    rng = np.random.default_rng(seed)
    tables = {}
    for name in names:
        own = parents.get(name, ())
        columns = rng.dirichlet(np.full(len(states[name]), 50.0), [len(states[p]) for p in own])
        tables[name] = (own, np.log(np.moveaxis(columns, -1, 0)))
    return LogTables(names, states, tables, target)


def awkward_names():
    """A tree-augmented network in which every awkward name is a node, and most are a parent."""
    names = ["class", *NAMES]
    states = {name: ["no", "yes"] for name in names} | {"class": ["a", "b", "c"]}
    parents = {name: ("class", names[i]) for i, name in enumerate(names[2:], 1)} | {names[1]: ("class",)}
    return random_tables(names, states, parents, target="class")


def awkward_labels():
    """A naive-Bayes network with the lists of labels; each list is also a parent's, of a node with two states."""
    names = ["target: a, b"]
    states = {"target: a, b": ["a", "b, c", 3]}
    parents = {}
    for i, labels in enumerate(LABELS):
        names += [f"f{i}", f"g{i}"]
        states |= {f"f{i}": labels, f"g{i}": ["no", "yes"]}
        parents |= {f"f{i}": ("target: a, b",), f"g{i}": ("target: a, b", f"f{i}")}
    return random_tables(names, states, parents, target="target: a, b")


def assert_identical(read, written):
    """Names, labels, their types, the graph and the probabilities are the same, to the last bit."""
    assert read.names == written.names
    assert read.target == written.target
    # repr tells 1 from "1", from 1.0 and from True, and says that nan is nan.
    assert repr(read.states) == repr(written.states)
    assert {n: t.parents for n, t in read.tables.items()} == {n: t.parents for n, t in written.tables.items()}
    for name, table in written.tables.items():
        np.testing.assert_array_equal(np.exp(read.tables[name].values), np.exp(table.values))
        np.testing.assert_allclose(read.tables[name].values, table.values, rtol=1e-14, atol=1e-15)


def assert_same_posteriors(arrays, tables, tolerance):
    """Another reader's probabilities, by position, give the first variable the posterior that ours do."""
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(0, len(tables.states[name]), 200) for name in tables.names])
    expected = _posterior([np.exp(table.values) for table in tables.tables.values()], tables, rows)
    assert expected.max(axis=1).mean() < 0.95
    np.testing.assert_allclose(_posterior(arrays, tables, rows), expected, rtol=0, atol=tolerance)


def _posterior(arrays, tables, rows):
    """The posterior of variable 0 for each row, from probabilities with axes (node, *parents)."""
    families = [[tables.names.index(v) for v in (name, *table.parents)] for name, table in tables.tables.items()]
    log_joint = np.zeros((len(rows), arrays[0].shape[0]))
    for value in range(log_joint.shape[1]):
        rows[:, 0] = value
        for family, array in zip(families, arrays, strict=True):
            log_joint[:, value] += np.log(array[tuple(rows[:, v] for v in family)])
    return softmax(log_joint, axis=1)


def unpadded(arrays, tables):
    """Other readers see the second, impossible state that one-state variables have in some files."""
    return [
        array[tuple(slice(n) for n in table.values.shape)]
        for array, table in zip(arrays, tables.tables.values(), strict=True)
    ]


def pgmpy_arrays(network, tables):
    """The tables that pgmpy has read, with the axes of ours."""
    read = LogTables.from_network(network)
    assert [table.values.ndim for table in read.tables.values()] == [
        table.values.ndim for table in tables.tables.values()
    ]
    return [np.exp(table.values) for table in read.tables.values()]


def pyagrum_arrays(network, names, tables):
    """The tables that pyAgrum has read under the file's `names`, with the axes of ours."""
    arrays = []
    for name, table in tables.tables.items():
        tensor = network.cpt(names[name])
        assert set(tensor.names) == {names[v] for v in (name, *table.parents)}
        axes = tensor.names[::-1]
        arrays.append(tensor.toarray().transpose([axes.index(names[v]) for v in (name, *table.parents)]))
    return arrays
