curl "$KINORA_URL/v1/webhook_endpoints/$ENDPOINT_ID/test" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{"type": "video.completed"}'
