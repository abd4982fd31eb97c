curl "$KINORA_URL/v1/videos/$TASK_ID/content?variant=video" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  --output whale.mp4
