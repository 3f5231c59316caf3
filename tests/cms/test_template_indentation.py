"""Templates are indented; pages are not."""

import pytest
from django.forms.renderers import get_default_renderer
from django.template import engines

from cms.template_indentation import without_indentation

CASES = {
    "block elements": ("<ul>\n  <li>\n    One\n  </li>\n  <li>Two</li>\n</ul>\n", "<ul><li>One</li><li>Two</li></ul>"),
    "inline elements": ("<p>\n  One\n  two <b>3</b>\n  <i>4</i>\n</p>", "<p>One two <b>3</b> <i>4</i></p>"),
    "in an element": ("<a>\n  {% if x %}\n    1\n  {% endif %}\n</a>", "<a>{% if x %}1{% endif %}</a>"),
    "between elements": (
        "<b>1</b>\n{% if x %}\n  2\n{% endif %}\n<i>3</i>",
        "<b>1</b> {% if x %}2{% endif %} <i>3</i>",
    ),
    "between the items of a loop": (
        "{% for x in y %}\n  {{ x }}\n{% endfor %}",
        "{% for x in y %}{{ x }} {% endfor %}",
    ),
    "after tags that show nothing": (
        "{% load i18n %}\n{# Why #}\n{% url 'x' as y %}\n{{ y }}\n",
        "{% load i18n %}{# Why #}{% url 'x' as y %}{{ y }}",
    ),
    "between attributes": (
        '<a\n  href="{% if x > 1 %}a{% endif %}"\n  hidden\n>\n  1</a>',
        '<a href="{% if x > 1 %}a{% endif %}" hidden>1</a>',
    ),
    "conditional attribute": (
        '<a\n  {% if y %}title="{{ y }}"{% endif %}\n>1</a>',
        '<a{% if y %} title="{{ y }}"{% endif %}>1</a>',
    ),
    "within a line": ("<p> One  two {% if x %} 3 {% endif %} </p>", "<p> One  two {% if x %} 3 {% endif %} </p>"),
}


@pytest.mark.parametrize(("source", "compact"), CASES.values(), ids=CASES)
def test_indentation_leaves_only_the_spaces_that_browsers_show(source, compact):
    assert without_indentation(source) == compact


@pytest.mark.parametrize(
    "text",
    [
        "<pre>\n  One\n</pre>",
        "<textarea>\n  One\n</textarea>",
        "<script>\n  one();\n</script>",
        "{% blocktranslate %}\n  One\n{% endblocktranslate %}",
        "{% verbatim %}\n  One\n{% endverbatim %}",
    ],
)
def test_texts_with_white_space_of_their_own_stay(text):
    assert text in without_indentation(f"<p>\n  {text}\n</p>")


def test_loaders_change_pages_and_form_fields_but_no_text_emails():
    assert "\n" not in engines["django"].get_template("nodes/_pager.html").template.source
    assert "\n" not in get_default_renderer().get_template("editor/chooser.html").template.source
    assert "\n\n" in engines["django"].get_template("comments/mail/reply.txt").template.source


def test_unclosed_tags_and_quotes_are_read_in_linear_time():
    for start in ("<a href=", '<a href="', "<a title='"):
        assert without_indentation(start + "{% if x %}{{ y }}{% endif %}" * 100).startswith(start)
