/** Asks for the video of a form. */
import { kinora } from '../../../service.ts'
import { buildRequest, type VideoForm } from '../form.ts'
import type { Offer } from '../offers.ts'

/** With the same key, a request that is sent again makes no second video. */
export const startRun = async (form: VideoForm, offer: Offer, idempotencyKey: string): Promise<string> => {
  const request = await buildRequest(form, offer)
  const { id } =
    request.endpoint === '/v1/videos'
      ? await kinora.videos.create(request.body, { idempotencyKey })
      : await kinora.videoTasks.create(request.body, { idempotencyKey })
  return id
}
