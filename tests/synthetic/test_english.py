"""The demo corpus: the same sentences in every view, and hidden states that are worth finding."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from spectragram.data.brackets import parse_tree, read_trees
from spectragram.data.columns import read_columns
from spectragram.data.conllu import read_conllu
from spectragram.data.projectivity import is_projective
from spectragram.data.text import read_text
from spectragram.data.trees import Tree
from spectragram.errors import InputError
from spectragram.synthetic import (
    english_chunks,
    english_dependencies,
    english_derivations,
    english_grammar,
    english_tagged,
    english_text,
    english_trees,
    write_english,
)
from spectragram.synthetic.english import MAX_WORDS, UNIVERSAL_TAGS
from spectragram.synthetic.english_grammar import Derivation, EnglishGrammar, instances, schemata
from spectragram.synthetic.english_lexicon import NOUNS, VERB_CLASSES, conjugate, plural
from spectragram.synthetic.english_rules import RULES

N = 1500

PHRASES = {"TOP", "S", "SQ", "SBAR", "SBARQ", "NP", "VP", "PP", "ADJP", "ADVP", "WHNP", "WHADVP"}

SUBORDINATORS = ("because", "while", "although", "whether")


@pytest.fixture(scope="module")
def derivations() -> list[Derivation]:
    return english_derivations(N)


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    return english_trees(N)


@pytest.fixture(scope="module")
def grammar() -> EnglishGrammar:
    return EnglishGrammar()


def nodes(derivation: Derivation) -> Iterator[Derivation]:
    yield derivation
    for child in derivation.children:
        yield from nodes(child)


# The corpus


def test_a_seed_is_a_corpus(trees: list[Tree]) -> None:
    assert english_trees(50) == trees[:50]
    assert english_trees(50, seed=1) != trees[:50]
    assert english_trees(0) == []
    with pytest.raises(InputError, match="n=-1"):
        english_trees(-1)


def test_the_sentences_stay_what_they_are() -> None:
    # Demos and documentation quote these sentences, so the corpus should only change on purpose.
    assert [" ".join(words) for words in english_text(4)[1:]] == [
        "Her dog visited Lisbon before the storm .",
        "The dogs that walked to a tower have eaten our biscuits badly .",
        "On Tuesday , he wondered if every brush is offered to Ines by her but is sharp .",
    ]


def test_all_views_show_the_same_sentences(trees: list[Tree]) -> None:
    words = english_text(100)
    assert [tree.leaves() for tree in trees[:100]] == words
    assert [sentence.forms for sentence in english_dependencies(100)] == words
    assert [sentence for sentence, _ in english_chunks(100)] == words
    assert english_tagged(100) == [(tree.leaves(), tree.tags()) for tree in trees[:100]]
    assert [sentence.xpos for sentence in english_dependencies(100)] == [tree.tags() for tree in trees[:100]]


def test_files_are_read_back(tmp_path: Path, trees: list[Tree]) -> None:
    paths = write_english(tmp_path, 20, name="demo")
    assert list(read_trees(paths["trees"])) == trees[:20]
    assert list(map(str, read_conllu(paths["conllu"], check_tree=True))) == list(map(str, english_dependencies(20)))
    assert [s.columns for s in read_columns(paths["tags"])] == english_tagged(20)
    assert [s.columns for s in read_columns(paths["chunks"])] == english_chunks(20)
    corpus = read_text(paths["txt"])
    assert [corpus.decode(i) for i in range(len(corpus))] == english_text(20)


def test_lengths_and_frequencies(trees: list[Tree]) -> None:
    lengths = [len(tree.leaves()) for tree in trees]
    assert max(lengths) <= MAX_WORDS
    assert 9 < sum(lengths) / N < 12
    # A few words make up most of the text and many are rare, as in real text.
    counts = [count for _, count in Counter(w.lower() for tree in trees for w in tree.leaves()).most_common()]
    assert 500 < len(counts) < 700
    assert sum(counts[:50]) > 0.5 * sum(counts)
    assert sum(count <= 2 for count in counts) > 0.1 * len(counts)


def test_trees_show_no_hidden_state(trees: list[Tree]) -> None:
    labels = {node.label for tree in trees for node in tree.subtrees() if not node.is_tag}
    tags = {tag for tree in trees for tag in tree.tags()}
    assert labels == PHRASES
    assert tags == set(UNIVERSAL_TAGS)


def test_spelling(trees: list[Tree]) -> None:
    for tree in trees:
        words = [word for word in tree.leaves() if word != "``"]
        assert words[0][0].isupper()
        for word, following in pairwise(words):
            if word.lower() in ("a", "an"):
                assert (word.lower() == "an") == (following[0].lower() in "aeiou"), words


def test_dependencies_are_projective_trees() -> None:
    for sentence in english_dependencies(N):
        sentence.check_tree()
        assert is_projective(sentence.heads)
        assert [h == 0 for h in sentence.heads] == [relation == "root" for relation in sentence.deprels]
        assert "dep" not in sentence.deprels
        for word, tag in zip(sentence.forms, sentence.upos, strict=True):
            assert (tag == "SCONJ") == (word.lower() in SUBORDINATORS) or word.lower() in ("that", "when", "if")


def test_dependencies_of_one_sentence() -> None:
    sentence = english_dependencies(3)[2]  # The dogs that walked to a tower have eaten our biscuits badly .
    assert sentence.heads.tolist() == [2, 8, 4, 2, 4, 7, 5, 0, 8, 11, 9, 9, 8]
    assert " ".join(sentence.deprels) == "det nsubj rel relcl obl det pobj root vcomp poss obj advmod punct"
    assert " ".join(sentence.upos) == "DET NOUN PRON VERB ADP DET NOUN AUX VERB PRON NOUN ADV PUNCT"


def test_chunks_are_base_noun_phrases() -> None:
    _, labels = english_chunks(3)[2]
    assert " ".join(labels) == "B-NP I-NP O O O B-NP I-NP O O B-NP I-NP O O"
    # Coordinated noun phrases are two chunks, and the conjunction is in neither.
    (labels,) = [
        labels for words, labels in english_chunks(50) if words[:6] == ["A", "girl", "and", "her", "woman", "were"]
    ]
    assert labels[:6] == ["B-NP", "I-NP", "O", "B-NP", "I-NP", "O"]


def test_sentences_that_nest_too_deep_are_rejected(grammar: EnglishGrammar, monkeypatch: pytest.MonkeyPatch) -> None:
    always_first = iter(lambda: 0.0, None).__next__
    sentence = grammar.sample(always_first)
    assert sentence is not None
    assert depth(sentence) == 5  # from TOP to words, by the first rule and the first word everywhere
    monkeypatch.setattr(english_grammar, "MAX_DEPTH", 2)
    assert grammar.sample(always_first) is None


def depth(derivation: Derivation) -> int:
    return 1 + max(map(depth, derivation.children), default=0)


# Hidden states, and why they help


def is_plural(noun_phrase: Tree) -> bool:
    """Whether a subject is plural, judged from the visible tree."""
    tags = [child.label for child in noun_phrase.children if child.is_tag]
    if "CC" in tags or "NNS" in tags:
        return True
    if tags and tags[-1] == "PRP":
        return noun_phrase.leaves()[0].lower() in ("they", "we", "you")
    return is_plural(noun_phrase.children[0]) if not tags else False


def subjects_and_verbs(trees: list[Tree]) -> Iterator[tuple[Tree, Tree]]:
    """Yield the subject and the finite verb of every clause in the present tense."""
    for tree in trees:
        for node in tree.subtrees():
            below = {child.label: child for child in node.children}
            if node.label == "S" and "NP" in below and "VP" in below:
                verb = below["VP"]
                while not verb.is_tag:
                    verb = next(child for child in verb.children if child.label[0] in "VM")
                if verb.label in ("VBZ", "VBP"):
                    yield below["NP"], verb


def test_subject_and_verb_agree_over_any_distance(trees: list[Tree]) -> None:
    pairs = list(subjects_and_verbs(trees))
    assert all((verb.label == "VBP") == is_plural(subject) for subject, verb in pairs)
    # The whole subject matters: the noun next to the verb often has the other number.
    misled = [verb for subject, verb in pairs if (subject.tags()[-1] == "NNS") != (verb.label == "VBP")]
    assert len(misled) > 0.1 * len(pairs)


def test_agreement_must_reject_disagreement() -> None:
    wrong = parse_tree("(S (NP (NP (DT the) (NNS cats)) (PP (IN in) (NP (NNP Oslo)))) (VP (VBZ sleeps)))")
    ((subject, verb),) = subjects_and_verbs([wrong])
    assert (verb.label == "VBP") != is_plural(subject)


def test_verbs_choose_their_objects(trees: list[Tree]) -> None:
    kind_of = {form: kind for kind, nouns in NOUNS.items() for noun in nouns.split() for form in plural(noun)}
    food_verbs = {
        form
        for verb_class in VERB_CLASSES
        if verb_class.name in ("eat", "cook")
        for verb in verb_class.verbs.split()
        for form in conjugate(verb).values()
    }
    eaten, others = Counter[str](), Counter[str]()
    for tree in trees:
        for node in tree.subtrees():
            if node.label == "VP" and [child.label for child in node.children[:2]][1:] == ["NP"]:
                verb, noun = node.children[0].word, node.children[1].leaves()[-1]
                if verb is not None and not node.children[1].children[0].children and noun in kind_of:
                    (eaten if verb in food_verbs else others)[kind_of[noun]] += 1
    assert set(eaten) == {"food"}
    assert eaten.total() > 50
    assert others["food"] < 0.2 * others.total()


def test_with_attaches_to_verb_or_noun_by_the_noun_that_follows(trees: list[Tree]) -> None:
    kind_of = {form: kind for kind, nouns in NOUNS.items() for noun in nouns.split() for form in plural(noun)}
    parents: dict[str, set[str]] = defaultdict(set)
    for tree in trees:
        for node in tree.subtrees():
            for child in node.children:
                if child.label == "PP" and child.leaves()[0] == "with":
                    parents[kind_of[child.leaves()[-1]]].add(node.label)
    assert parents == {"tool": {"VP"}, "wear": {"NP"}, "food": {"NP"}}


def conditional_entropy(pairs: list[tuple[str, object]]) -> float:
    """H(second | first) in bits, estimated from counts."""
    joint, first = Counter(pairs), Counter(a for a, _ in pairs)
    return -sum(n / len(pairs) * math.log2(n / first[a]) for (a, _), n in joint.items())


def test_hidden_states_help(derivations: list[Derivation]) -> None:
    found = [node for derivation in derivations for node in nodes(derivation)]
    # The hidden state predicts the visible children of a node better than its label does.
    phrases = [node for node in found if node.children]
    shown = [tuple(child.label for child in node.children) for node in phrases]
    by_label = conditional_entropy([(node.label, rule) for node, rule in zip(phrases, shown, strict=True)])
    by_state = conditional_entropy([(node.symbol, rule) for node, rule in zip(phrases, shown, strict=True)])
    assert by_state < by_label - 0.5
    leaves = [node for node in found if node.word]
    by_tag = conditional_entropy([(node.label, node.word) for node in leaves])
    by_class = conditional_entropy([(node.symbol, node.word) for node in leaves])
    assert by_class < by_tag - 1.0


def test_tense_reaches_across_the_comma(trees: list[Tree]) -> None:
    found = Counter[str]()
    for tree in trees:
        clause = tree.children[0]
        if [child.label for child in clause.children] == ["ADVP", ",", "NP", "VP", "."]:
            verb = clause.children[3]
            while not verb.is_tag:
                verb = verb.children[0]
            found[f"{clause.leaves()[0]} {verb.label}"] += 1
    assert found["Yesterday VBD"] > 10
    assert {key for key in found if key.startswith(("Yesterday", "Tomorrow"))} == {"Yesterday VBD", "Tomorrow MD"}


# The grammar


def test_every_rule_and_every_word_is_used(grammar: EnglishGrammar) -> None:
    alive = {(symbol, rule.children) for symbol, rules in grammar.rules.items() for rule in rules}
    written = [schema for schema in schemata() if schema in RULES.splitlines()]
    assert len(written) > 80
    for schema in written:
        assert any((symbol, rule.children) in alive for symbol, rule in instances(schema)), schema
    used = {child for _, children in alive for child in children}
    assert set(grammar.words) <= used


def test_a_schema_becomes_rules() -> None:
    # {n} is on the left and gives one rule per value; {m} is only on the right, so the weight is split 2 to 1.
    assert list(instances("3 NP/{n} > DT/{n} *N/{n} PP/{m}=x")) == [
        (f"NP/{n}", (pytest.approx(weight), (f"DT/{n}", f"N/{n}", f"PP/{m}"), 1, ("det", "dep", "x")))
        for m, weight in (("sg", 2), ("pl", 1))
        for n in ("sg", "pl")
    ]


@pytest.mark.parametrize(
    ("verb", "third", "past", "participle", "ing"),
    [
        ("carry", "carries", "carried", "carried", "carrying"),
        ("bake", "bakes", "baked", "baked", "baking"),
        ("vanish", "vanishes", "vanished", "vanished", "vanishing"),
        ("see-saw-seen", "sees", "saw", "seen", "seeing"),
        ("run-ran-run", "runs", "ran", "run", "running"),
        ("drop", "drops", "dropped", "dropped", "dropping"),
        ("plan", "plans", "planned", "planned", "planning"),
        ("forget-forgot-forgotten", "forgets", "forgot", "forgotten", "forgetting"),
        ("visit", "visits", "visited", "visited", "visiting"),
        ("buy-bought-bought", "buys", "bought", "bought", "buying"),
        ("sew-sewed-sewn", "sews", "sewed", "sewn", "sewing"),
    ],
)
def test_conjugation(verb: str, third: str, past: str, participle: str, ing: str) -> None:
    forms = conjugate(verb)
    assert (forms["pres.sg"], forms["past.pl"], forms["part"], forms["ing"]) == (third, past, participle, ing)
    assert forms["base"] == forms["pres.pl"] == verb.split("-")[0]


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("cat", "cats"),
        ("cherry", "cherries"),
        ("donkey", "donkeys"),
        ("brush", "brushes"),
        ("child/children", "children"),
    ],
)
def test_plurals(noun: str, expected: str) -> None:
    assert plural(noun) == (noun.split("/")[0], expected)
