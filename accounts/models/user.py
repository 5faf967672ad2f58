"""The user: logs in by e-mail, has a level, belongs to groups."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from accounts.choices import Level
from hermes_site.lib import clock
from hermes_site.lib.ids import new_id


class UserManager(BaseUserManager["User"]):
    """Makes users; e-mail addresses are compared without case."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        if not email:
            raise ValueError("A user needs an e-mail address.")
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, email: str | None) -> User:
        return self.get(email=(email or "").strip().lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A person. ``level`` empty means: the highest level of the groups, else safe."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    email = models.EmailField(_("e-mail address"), unique=True)
    name = models.CharField(_("name"), max_length=150, blank=True)
    level = models.CharField(
        _("level"),
        max_length=16,
        choices=Level.choices,
        blank=True,
        help_text=_("Empty: the highest level of the user's groups, else safe."),
    )
    language = models.CharField(_("language"), max_length=16, blank=True)
    timezone = models.CharField(_("time zone"), max_length=64, default="UTC")
    is_staff = models.BooleanField(_("administrator"), default=False)
    is_active = models.BooleanField(_("active"), default=True)
    date_joined = models.DateTimeField(_("joined"), default=clock.now, editable=False)

    objects = UserManager()
    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_ci")]

    def __str__(self) -> str:
        return self.email

    def get_full_name(self) -> str:
        return self.name or self.email

    def get_short_name(self) -> str:
        return self.name or self.email.split("@")[0]
