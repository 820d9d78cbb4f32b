"""Raw text put together from treebanks."""

from __future__ import annotations

from spectragram.data.conllu import Sentence, parse_conllu
from spectragram.pipeline.raw_text import paragraphs, plain_text, surface_tokens

TREEBANK = """# newdoc id = a
# text = Vámonos al "mar".
1-2	Vámonos	_	_	_	_	_	_	_	_
1	Vamos	_	_	_	_	_	_	_	SpaceAfter=No
2	nos	_	_	_	_	_	_	_	_
3-4	al	_	_	_	_	_	_	_	_
3	a	_	_	_	_	_	_	_	_
4	el	_	_	_	_	_	_	_	_
5	"	_	_	_	_	_	_	_	SpaceAfter=No
6	mar	_	_	_	_	_	_	_	SpaceAfter=No|Gloss=sea
7	"	_	_	_	_	_	_	_	SpaceAfter=No
7.1	empty	_	_	_	_	_	_	_	_
8	.	_	_	_	_	_	_	_	_

# text = Sí
1	Sí	_	_	_	_	_	_	_	SpaceAfter=No

# text = ,  no
1	,	_	_	_	_	_	_	_	_
2	no	_	_	_	_	_	_	_	_

# newpar
# text = wrong text
1	10 000	_	_	_	_	_	_	_	_
2	euros	_	_	_	_	_	_	_	_

"""


def test_multiword_tokens_take_the_place_of_their_words() -> None:
    tokens = surface_tokens(parse_conllu(TREEBANK)[0])
    assert [token.form for token in tokens] == ["Vámonos", "al", '"', "mar", '"', "."]
    assert [token.words for token in tokens][:3] == [("Vamos", "nos"), ("a", "el"), ('"',)]
    assert [token.is_multiword for token in tokens] == [True, True, False, False, False, False]
    assert [token.space_after for token in tokens] == [True, True, False, False, False, True]


def test_the_text_of_a_treebank() -> None:
    assert plain_text(parse_conllu(TREEBANK)) == 'Vámonos al "mar". Sí,  no\n\n10 000 euros\n'
    assert plain_text([]) == ""


def test_spans_find_the_tokens_in_the_text() -> None:
    first, second = paragraphs(parse_conllu(TREEBANK))
    for paragraph in (first, second):
        found = [paragraph.text[start:stop] for start, stop in paragraph.spans.tolist()]
        assert found == [token.form for token in paragraph.tokens]
    assert first.ends.tolist() == [False] * 5 + [True, True, False, True]
    assert second.ends.tolist() == [False, True]


def test_text_without_comments_is_put_together_from_the_forms() -> None:
    sentences = [Sentence.from_words(["Oh", "!"], misc=["SpaceAfter=No", "_"]), Sentence.from_words(["so", "what"])]
    assert plain_text(sentences) == "Oh! so what\n"
