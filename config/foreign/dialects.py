"""The dialects, in the order in which a file is recognized: what is none of the others is a file of JoyRL."""

from config.foreign import convlab, joyrl, joyrl_settings, rllib, rllib_files, rllib_multiagent, zoo
from config.foreign.dialect import Dialect

DIALECTS = (
    Dialect(recognizes=zoo.understands, convert=zoo.converted, flags=lambda document: ("algo", "env")),
    Dialect(
        of_flags=rllib.of_flags,
        put_flags=rllib.put_flags,
        put_policies=rllib_multiagent.put_policies,
        present_id=lambda name, kind: rllib.present_id(name, kind)[0],
        put_env=rllib.put_present_env,
        translate=rllib.translate,
        translate_policies=rllib_multiagent.translate,
        recognizes=rllib_files.understands,
        convert=rllib_files.converted,
        flags=lambda document: ("name",) if rllib_files.experiments(document) else (),
    ),
    Dialect(recognizes=lambda document: convlab.kind_of(document.value) is not None, convert=convlab.converted),
    Dialect(
        rewrite=joyrl_settings.rewrite,
        translate=joyrl_settings.put_words,
        hint=joyrl.hint,
        keys=lambda section: joyrl.KEYS.get(section, {}),
        recognizes=lambda document: True,
        convert=joyrl_settings.converted,
    ),
)
