curl "$KINORA_URL/v1/receipts/$TASK_ID" \
  -H "Authorization: Bearer $KINORA_API_KEY"
