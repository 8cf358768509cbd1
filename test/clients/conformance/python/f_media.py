import base64
import os
import tempfile
import time

import openai
from support import Counted, expect, expect_that, fails, last_sent, run

SOUND = b"\x01" * 3000 + b"\x02" * 2000
PICTURE = base64.b64encode(b"a picture").decode()


def client():
    return Counted().openai


def recording(name="speech.wav"):
    return (name, b"\x07" * 100_000, "audio/wav")


def f1():
    for value, count in (("one", 1), (["one", "two"], 2), ([{"type": "text", "text": "one"}], 1)):
        results = client().moderations.create(model="moderation", input=value).results
        expect(len(results), count)
        for group in (results[0].categories, results[0].category_scores, results[0].category_applied_input_types):
            expect(len(group.to_dict()), 13)


def f2():
    for kind, mime in (("mp3", "audio/mpeg"), ("pcm", "audio/pcm"), ("wav", "audio/wav")):
        speech = client().audio.speech.with_streaming_response
        with speech.create(model="tts", voice="alloy", input="hello", response_format=kind) as response:
            expect(response.headers["content-type"], mime)
            pieces, times = [], []
            for piece in response.iter_bytes():
                pieces.append(piece)
                times.append(time.monotonic())
        expect(b"".join(pieces), SOUND)
        expect_that(times[-1] - times[0] > 0.2, "the first byte waited for the last")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "speech.mp3")
        with client().audio.speech.with_streaming_response.create(model="tts", voice="alloy", input="hello") as response:
            response.stream_to_file(file)
        with open(file, "rb") as written:
            expect(written.read(), SOUND)


def f4():
    error = fails(openai.BadRequestError, lambda: client().audio.speech.create(model="tts", voice="alloy", input="x" * 4097))
    expect((error.status_code, error.param), (400, "input"))


def f5():
    answer = client().audio.transcriptions.create(model="transcribe", file=recording())
    expect((answer.text, answer.usage.type), ("hello there", "tokens"))
    answer = client().audio.transcriptions.create(model="whisper", file=recording("a.mp3"))
    expect((answer.text, answer.usage.type), ("hello there", "duration"))
    for kind in ("text", "srt", "vtt"):
        expect(client().audio.transcriptions.create(model="whisper", file=recording(), response_format=kind), f"{kind}: hello there\n")


def f7():
    answer = client().audio.transcriptions.create(
        model="whisper", file=recording(), response_format="verbose_json", timestamp_granularities=["word", "segment"]
    )
    expect((len(answer.words), len(answer.segments)), (1, 1))
    sent = last_sent("whisper-1--pong")["body"]
    expect((sent["timestamp_granularities[]"], sent["file"]["size"]), (["word", "segment"], 100_000))


def f8():
    stream = client().audio.transcriptions.create(model="transcribe", file=recording(), stream=True)
    expect([event.type for event in stream], ["transcript.text.delta", "transcript.text.delta", "transcript.text.done"])


def f10():
    expect(client().audio.translations.create(model="whisper", file=recording()).text, "in English")


def f11():
    images = client().images
    expect(images.generate(model="image", prompt="a dot", response_format="b64_json").data[0].b64_json, PICTURE)
    expect(images.generate(model="image", prompt="a dot", response_format="url").data[0].url, "https://pictures.test/1.png")
    types = [event.type for event in images.generate(model="image", prompt="a dot", stream=True, partial_images=2)]
    expect(types, ["image_generation.partial_image", "image_generation.partial_image", "image_generation.completed"])
    edited = images.edit(model="image", prompt="a dot", image=[recording("a.png"), recording("b.png")], mask=recording("m.png"))
    expect(edited.data[0].b64_json, PICTURE)
    expect(len(last_sent("gpt-image-1--pong")["body"]["image[]"]), 2)


run({"F1": f1, "F2": f2, "F4": f4, "F5": f5, "F7": f7, "F8": f8, "F10": f10, "F11": f11})
