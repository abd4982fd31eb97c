import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from openai import InvalidWebhookSignatureError, OpenAI

client = OpenAI(webhook_secret=os.environ["WEBHOOK_SECRET"])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            event = client.webhooks.unwrap(body, self.headers)
        except InvalidWebhookSignatureError:
            self.send_response(400)
        else:
            print(event.type, event.data.id, flush=True)
            self.send_response(204)
        self.end_headers()


server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
print(f"Listening on port {server.server_port}", flush=True)
server.serve_forever()
