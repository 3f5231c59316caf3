from django.apps import AppConfig


class TasksConfig(AppConfig):
    name = "marginalia.tasks"
    label = "marginalia_tasks"
    verbose_name = "Tasks"
