curl "$KINORA_URL/v1/videos" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -F model=vidB-2 -F seconds=10 -F size=1280x720 \
  -F prompt="The camera moves slowly towards the island" \
  -F input_reference=@island.png
