curl --include "$KINORA_URL/v1/videos" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -F model=vidB-2 -F seconds=11 -F size=1280x720 \
  -F prompt="A whale swimming through a calm ocean at sunset"
