curl --request POST "$KINORA_URL/v1/webhook_deliveries/$DELIVERY_ID/redeliver" \
  -H "Authorization: Bearer $KINORA_API_KEY"
