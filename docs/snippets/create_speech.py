from openai import OpenAI

client = OpenAI()

with client.audio.speech.with_streaming_response.create(
    model="tts-1",
    voice="nova",
    input="The ships left before first light.",
) as response:
    response.stream_to_file("ships.mp3")
