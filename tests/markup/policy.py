"""The allowed content of clean HTML, specified a second time and checked with a different parser."""

import re
from html.parser import HTMLParser

COMMENT = {
    "a": {"href", "title", "rel"},
    "abbr": {"title"},
    "b": set(),
    "blockquote": {"cite"},
    "br": set(),
    "cite": set(),
    "code": {"class"},
    "del": set(),
    "em": set(),
    "hr": set(),
    "i": set(),
    "ins": set(),
    "kbd": set(),
    "li": {"value"},
    "mark": set(),
    "ol": {"reversed", "start", "type"},
    "p": set(),
    "pre": set(),
    "q": {"cite"},
    "s": set(),
    "samp": set(),
    "small": set(),
    "span": set(),
    "strong": set(),
    "sub": set(),
    "sup": set(),
    "table": set(),
    "tbody": set(),
    "td": {"align", "colspan", "rowspan"},
    "tfoot": set(),
    "th": {"align", "colspan", "rowspan", "scope"},
    "thead": set(),
    "tr": set(),
    "u": set(),
    "ul": set(),
    "var": set(),
}
ARTICLE = COMMENT | {
    "bdi": set(),
    "bdo": set(),
    "caption": set(),
    "col": {"span"},
    "colgroup": {"span"},
    "dd": set(),
    "del": {"cite", "datetime"},
    "details": {"open"},
    "dfn": set(),
    "div": {"data-fault", "data-insert", "data-line"},
    "dl": set(),
    "dt": set(),
    "figcaption": set(),
    "figure": set(),
    "h2": set(),
    "h3": set(),
    "h4": set(),
    "h5": set(),
    "h6": set(),
    "img": {"alt", "height", "loading", "src", "width"},
    "ins": {"cite", "datetime"},
    "rp": set(),
    "rt": set(),
    "ruby": set(),
    "summary": set(),
    "time": {"datetime"},
    "wbr": set(),
}
TAGS = {"article": ARTICLE, "comment": COMMENT}
EVERYWHERE = {"article": {"class", "dir", "id", "lang", "title"}, "comment": {"dir", "lang"}}
SCHEMES = {"article": {"http", "https", "mailto", "tel"}, "comment": {"http", "https", "mailto"}}
FORMS = {
    "align": "left|right|center",
    "class": r"((alignleft|alignright|aligncenter|alignnone|wp-caption|wp-caption-text"
    r"|footnotes|footnote-ref|footnote-back|task|language-[\w+#.-]+)( |$))+",
    "colspan": r"\d{1,3}",
    "data-fault": "closes nothing|not closed|too deep",
    "data-line": r"\d{1,7}",
    "dir": "ltr|rtl|auto",
    "height": r"\d{1,4}",
    "id": r"s-[\w.:-]+",
    "lang": "[A-Za-z0-9-]+",
    "rel": "noopener|ugc nofollow noopener",
    "rowspan": r"\d{1,3}",
    "start": r"-?\d+",
    "type": "[1aAiI]",
    "width": r"\d{1,4}",
}
# Characters that browsers ignore in a URL before they read its scheme, and some more.
IGNORED = re.compile(r"[\x00-\x20\x7f-\xa0\xad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufffe\uffff]")
UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


class Policy(HTMLParser):
    """Collects the content of HTML that `profile` does not allow."""

    def __init__(self, profile: str) -> None:
        super().__init__(convert_charrefs=True)
        self.profile = profile
        self.violations: list[str] = []
        self.text: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag, attrs):
        allowed = TAGS[self.profile].get(tag)
        if allowed is None:
            self.violations.append(f"<{tag}>")
            return
        for name, value in attrs:
            if name not in allowed | EVERYWHERE[self.profile]:
                self.violations.append(f"<{tag} {name}>")
            elif name in FORMS and not re.fullmatch(FORMS[name], value or ""):
                self.violations.append(f"<{tag} {name}={value!r}>")
            elif name in {"href", "src", "cite"}:
                self.address(tag, name, value or "")
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.violations.append(f"<{tag}> with an attribute twice")
        for name, value in attrs:
            if name == "id":
                if value in self.ids:
                    self.violations.append(f"id {value!r} twice")
                self.ids.add(value)
        if tag == "a" and self.profile == "comment" and dict(attrs).get("rel") != "ugc nofollow noopener":
            self.violations.append("<a> without rel")

    def address(self, tag, name, value):
        """Check the scheme of a URL. A relative URL must not look like one with a scheme."""
        head = re.split(r"[/?#\\]", IGNORED.sub("", value), maxsplit=1)[0]
        if ":" not in head:
            return
        allowed = {"http", "https", "photo"} if tag == "img" else SCHEMES[self.profile]
        if tag == "a" and self.profile == "article":
            allowed = {*allowed, "node", "photo"}
        if head.split(":")[0].lower() not in allowed:
            self.violations.append(f"<{tag} {name}={value!r}>")

    def handle_startendtag(self, tag, attrs):
        self.violations.append(f"<{tag}/>")

    def handle_endtag(self, tag):
        if tag not in TAGS[self.profile]:
            self.violations.append(f"</{tag}>")

    def handle_comment(self, data):
        self.violations.append(f"<!--{data}-->")

    def handle_decl(self, decl):
        self.violations.append(f"<!{decl}>")

    def unknown_decl(self, data):
        self.violations.append(f"<![{data}]>")

    def handle_pi(self, data):
        self.violations.append(f"<?{data}>")

    def handle_data(self, data):
        self.text.append(data)


def violations(html: str, profile: str) -> list[str]:
    """Return the content of `html` that `profile` does not allow."""
    policy = Policy(profile)
    policy.feed(html)
    if policy.rawdata:
        policy.violations.append(f"unfinished: {policy.rawdata!r}")
    policy.close()
    # Outside of tags, every "<" must be escaped, and attribute values contain none.
    rest = re.sub(r'</?[a-z][a-z0-9]*(?: [a-z-]+="[^"<>]*")*>', "", html)
    if "<" in rest or ">" in rest:
        policy.violations.append(f"stray angle bracket: {rest!r}")
    if found := UNWANTED.search(html):
        policy.violations.append(f"character {found[0]!r}")
    return policy.violations
