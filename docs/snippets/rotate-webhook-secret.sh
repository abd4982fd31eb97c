curl "$KINORA_URL/v1/webhook_endpoints/$ENDPOINT_ID/rotate_secret" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{"overlap_seconds": 86400}'
