"""Languages whose words search can stem, and a guess of the language of a text."""

import re
import threading
from collections import Counter
from functools import lru_cache
from typing import Final

import snowballstemmer

# The names of stemmers, keyed by language code.
STEMMERS: Final = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
# Function words. They show the language of a text, and pages that match a query may lack them.
_FUNCTION_WORDS: Final = {
    "ca": "amb aquest aquesta com els és ha i les més no per però que què són també un una del dels",
    "cs": "a aby ale byl být co do i jak jako je jeho jsem jsou k kde který na nebo není o od po pro se si tak to v ve"
    " z za že",
    "da": "af alle at blev da de den der det eller en er et for fra han har hun hvad hvor i ikke jeg kan med men når og"
    " om på som til var vi",
    "de": "aber als am an auch auf aus bei bin bis das dem den der des die du ein eine einem einen einer es für hat ich"
    " im in ist ja kann man mit nach nicht noch nur oder sich sie sind so über um und uns von vor war was wenn wer wie"
    " wir wird wo zu zum zur",
    "en": "a about all also am an and any are as at be been but by can could did do does for from had has have he her"
    " him his how i if in into is it its just like me my no not of on one or our out she should so some than that the"
    " their them then there these they this those to too up us was we were what when where which who why will with"
    " would you your",
    "es": "a al como con cuando de del donde el ella en entre era es esta este fue ha hay la las lo los más me mi muy no"
    " nos o para pero por que qué se sin sobre son su sus también un una y ya yo",
    "fi": "ei en että ja joka jos kun mitä mutta myös ne niin nyt oli on ole ovat se sen sitä tai tämä vain",
    "fr": "à au aux avec ce ces cette comme dans de des du elle en est et être il ils je la le les leur lui mais me mon"
    " ne nous on ou où par pas plus pour qu que qui sa sans se ses son sont sur un une vous",
    "hu": "a az egy és ez hogy is itt kell meg mert mint nem nincs ő s van volt",
    "it": "a al alla anche che chi ci come con da dal del della delle di dove e è gli ha i il in io la le lo ma mi nel"
    " nella non o per però più quando questa questo se si sono su sul un una uno",
    "nl": "aan als bij dan dat de deze die dit door een en er had heb heeft het hij hoe ik in is je kan maar me met mijn"
    " naar niet nog of om ook op over te tot uit van voor was wat we wel wie ze zich zijn zo",
    "no": "av alle at ble da de den der det eller en er et for fra han har hun hva hvor i ikke jeg kan med men når og om"
    " på som til var vi",
    "pl": "a ale bo być co czy dla do i ich jak jako jest już na nie o od po przez się są tak tam to tym w we z za że",
    "pt": "a ao aos as com como da das de do dos e é ela ele em entre era essa esse está eu foi há isso já mais mas me"
    " muito na não nas no nos o os ou para pela pelo por quando que quem se sem seu sua são também um uma você",
    "ro": "a ai al ale am ar au ca că ce cu de din după e este în la mai nu o pe pentru prin sau se și un",
    "ru": "а без бы в вы где да для до его ее если есть же за и из или их к как кто ли мы на не но о об он она они от по"
    " при с со так что это я",
    "sv": "alla att av blev de den det där eller en er ett från för han har hon hur i inte jag kan med men när och om på"
    " som så till var vi är",
    "tr": "ama bir bu çok da daha de en gibi her için ile ise ki mi mu ne o olan olarak sonra şu var ve veya ya",
}
FUNCTION_WORDS: Final = {code: frozenset(words.split()) for code, words in _FUNCTION_WORDS.items()}
_CODES_BY_WORD: Final = {
    word: tuple(code for code, words in FUNCTION_WORDS.items() if word in words)
    for word in frozenset().union(*FUNCTION_WORDS.values())
}
# Scripts that are mostly used for one language.
_SCRIPTS: Final = (
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("hy", re.compile("[\u0530-\u058f]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("ko", re.compile("[\u1100-\u11ff\uac00-\ud7af]")),
    ("zh", re.compile("[\u3040-\u30ff\u3400-\u9fff]")),
)
_KANA: Final = re.compile("[\u3040-\u30ff]")
_WORD: Final = re.compile(r"[^\W\d_]+")
# The number of characters from which the language is guessed.
_SAMPLE: Final = 4_000
# A text needs this many function words of a language, including repetitions. For shorter texts, there is no guess.
_ENOUGH: Final = 4
_stemmers = threading.local()


def guess(text: str) -> str:
    """Return the code of the language in which `text` is written, or "" if it isn't clear."""
    sample = text[:_SAMPLE]
    if not sample.isascii():
        for code, script in _SCRIPTS:
            if 2 * len(script.findall(sample)) > len(sample) - sample.count(" "):
                # Chinese texts can quote Japanese words.
                return "ja" if code == "zh" and 10 * len(_KANA.findall(sample)) > len(sample) else code
    counts = Counter(code for word in _WORD.findall(sample.lower()) for code in _CODES_BY_WORD.get(word, ()))
    # If several languages have equally many words, the first one in the table is returned.
    best = max(FUNCTION_WORDS, key=counts.__getitem__)
    return best if counts[best] >= _ENOUGH else ""


def main_code(code: str) -> str:
    """Return the part of a language code that STEMMERS uses, such as "pt" for "pt-br"."""
    code = code.lower().partition("-")[0]
    return "no" if code in ("nb", "nn") else code


def is_function_word(word: str, codes: tuple[str, ...]) -> bool:
    """Return whether `word` is a function word in one of the languages, such as "the"."""
    return any(word in FUNCTION_WORDS.get(code, ()) for code in codes)


@lru_cache(maxsize=100_000)
def stem(word: str, code: str) -> str:
    """Return the stem of a lower-case word, or the word itself if there is no stemmer for the language."""
    if code not in STEMMERS:
        return word
    # A stemmer stores the current word, so each thread needs its own.
    stemmers = _stemmers.__dict__
    if code not in stemmers:
        stemmers[code] = snowballstemmer.stemmer(STEMMERS[code])
    stemmed: str = stemmers[code].stemWord(word)
    return stemmed or word
