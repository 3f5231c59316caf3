"""`manage.py shell`: the names that it imports."""

from django.core.management import call_command


def test_shell_knows_content_types_actions_and_the_database(mongo, capsys):
    source = "print(BlogEntry.type_name, actions.Publish.__name__, System, database().name, Node.objects.count())"
    call_command("shell", command=source, verbosity=0)
    assert capsys.readouterr().out.startswith("blog-entry Publish ")
