import { expect } from 'vitest'

/** A video as `/v1/videos` shows it after its creation: exactly these fields, with the given values. */
export const shownVideo = (given: Record<string, unknown>): Record<string, unknown> => ({
  object: 'video',
  status: 'pending',
  progress: 0,
  created_at: expect.closeTo(Date.now() / 1000, -1),
  video_url: null,
  enhanced_prompt: 'A whale',
  status_update_time: expect.closeTo(Date.now() / 1000, -1),
  remixed_from_video_id: null,
  metadata: {},
  ...given,
})
