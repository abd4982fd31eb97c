curl -X POST "$KINORA_URL/v1/videos/$TASK_ID/cancel" \
  -H "Authorization: Bearer $KINORA_API_KEY"
