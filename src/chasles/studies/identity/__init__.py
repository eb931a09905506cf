"""Identity by value: digests that are equal, in every process, for objects that compute the same."""

from chasles.studies.identity.libraries import environment
from chasles.studies.identity.values import UnidentifiedError, digest_of

__all__ = ["UnidentifiedError", "digest_of", "environment"]
