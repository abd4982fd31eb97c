import openai
from openai import OpenAI

client = OpenAI(max_retries=5)

try:
    client.videos.create(model="vidB-2", prompt="A whale", seconds="11", size="1280x720")
except openai.APIStatusError as error:
    print(error.status_code, error.code, error.param, error.request_id)
    print(error.body["hint"])
except openai.APIConnectionError as error:
    print("No response:", error.__cause__)
