curl "$KINORA_URL/v1/webhook_deliveries?endpoint_id=$ENDPOINT_ID" \
  -H "Authorization: Bearer $KINORA_API_KEY"
