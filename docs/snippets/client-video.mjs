import { Kinora } from '@kinora/client'

const kinora = new Kinora()
const video = await kinora.videos.run({
  model: 'vidB-2',
  prompt: 'A whale at sunset',
  seconds: 4,
  size: '1280x720',
})
await video.save('whale.mp4')
