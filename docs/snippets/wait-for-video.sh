curl "$KINORA_URL/v1/videos/$TASK_ID" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -H "Prefer: wait=60"
