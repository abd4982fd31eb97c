curl "$KINORA_URL/v1/webhook_deliveries/$DELIVERY_ID" \
  -H "Authorization: Bearer $KINORA_API_KEY"
