"""All architectures."""
import diffusion
import speech
import streaming_text
import text
import vision

ALL = []
for part in (text, streaming_text, vision, speech, diffusion):
    ALL += part.ARCHITECTURES
assert len({architecture.name for architecture in ALL}) == len(ALL)
