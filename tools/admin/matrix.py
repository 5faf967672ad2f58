"""The matrix as one page: choose, see what changes and for whom, then save.

Three steps by one form, without scripts: the grid, the review, the save. A change that opens
something is asked about again at the review.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts.admin.base import VIA, PolicyAdmin
from accounts.choices import Level
from hermes_site.lib.errors import UserFacing
from tools.choices import Category, Outcome
from tools.models import MatrixCell
from tools.services.matrix import (
    PLACES,
    Cells,
    matrix_changes,
    matrix_now,
    matrix_seen,
    matrix_set,
    users_by_level,
)


@admin.register(MatrixCell)
class MatrixAdmin(PolicyAdmin):
    """Cells have no pages of their own: the matrix is judged, and changed, as a whole."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="tools_matrixcell_changelist")]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            step = request.POST.get("step") if request.method == "POST" else None
            if step == "review":
                return self._review(request)
            if step == "save":
                return self._save(request)
            if step == "back":
                return self._grid(request, _chosen(request))
        except UserFacing as error:
            self.message_user(request, error.message, messages.ERROR)
            return redirect("admin:tools_matrixcell_changelist")
        return self._grid(request, matrix_now())

    def _grid(self, request: HttpRequest, cells: Cells) -> HttpResponse:
        now, people = matrix_now(), users_by_level()
        rows = [
            {
                "level": Level(level),
                "users": people[level],
                "cells": [
                    _cell(level, category.value, cells, now[level, category.value])
                    for category in Category
                ],
            }
            for level in Level.values
        ]
        context = {"rows": rows, "categories": list(Category), "seen": matrix_seen(now)}
        return self._page(request, "admin/portal/matrix.html", context)

    def _review(self, request: HttpRequest, *, missing: bool = False) -> HttpResponse:
        cells = _chosen(request)
        changes = matrix_changes(cells)
        if not changes:
            self.message_user(request, gettext("Nothing was changed."), messages.INFO)
            return redirect("admin:tools_matrixcell_changelist")
        context = {
            "changes": [
                {
                    "change": change,
                    "level": Level(change.level).label,
                    "category": Category(change.category).label,
                    "old": _word(change.old),
                    "new": _word(change.new),
                }
                for change in changes
            ],
            "opens": any(change.opens for change in changes),
            "affected": sum({change.level: change.affected for change in changes}.values()),
            "cells": [(_name(*place), cells[place]) for place in PLACES],
            "seen": request.POST.get("seen", ""),
            "missing": missing,
        }
        return self._page(request, "admin/portal/matrix_review.html", context)

    def _save(self, request: HttpRequest) -> HttpResponse:
        cells = _chosen(request)
        opens = any(change.opens for change in matrix_changes(cells))
        if opens and request.POST.get("confirm") != "open":
            return self._review(request, missing=True)
        changes = matrix_set(cells, request.user, seen=request.POST.get("seen") or "-", via=VIA)
        words = ngettext("%(n)d cell changed.", "%(n)d cells changed.", len(changes))
        self.message_user(request, words % {"n": len(changes)}, messages.SUCCESS)
        return redirect("admin:tools_matrixcell_changelist")

    def _page(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        shared = {
            **self.admin_site.each_context(request),
            "title": _("Policy matrix"),
            "opts": self.opts,
        }
        return TemplateResponse(request, template, {**shared, **context})


def _chosen(request: HttpRequest) -> Cells:
    """The cells of the form; one that is missing is an error, never a guess."""
    return {place: request.POST.get(_name(*place), "") for place in PLACES}


def _name(level: str, category: str) -> str:
    return f"cell-{level}-{category}"


def _word(outcome: str) -> dict[str, str]:
    """An outcome as people see it: its code for the colour, its letter, its word."""
    return {"value": outcome, "letter": outcome[:1].upper(), "word": str(Outcome(outcome).label)}


def _cell(level: str, category: str, cells: Cells, now: str) -> dict[str, Any]:
    chosen = cells[level, category]
    return {
        "name": _name(level, category),
        "label": f"{Level(level).label}, {Category(category).label}",
        "now": now,
        "options": [{**_word(outcome), "checked": outcome == chosen} for outcome in Outcome.values],
    }
