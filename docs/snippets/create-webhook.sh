curl "$KINORA_URL/v1/webhook_endpoints" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{"url": "http://127.0.0.1:3000/", "events": ["video.completed", "video.failed"]}'
