/** Sends the request of a task once more, as far as the API shows it. */
import type { CreateVideoParams, Quote, RemixVideoParams, Video } from '@kinora/client'

import { kinora } from '../../service.ts'
import type { TaskView } from './task-data.ts'

const readRequest = ({ model, prompt, seconds, size }: TaskView) =>
  ({ model, prompt, seconds, size }) as unknown as CreateVideoParams

const readRemix = ({ prompt, size }: TaskView) => ({ prompt, size }) as unknown as RemixVideoParams

/** The price now, which can differ from that of the task. */
export const quoteAgain = (view: TaskView): Promise<Quote> =>
  view.remixOf === null
    ? kinora.videos.create({ ...readRequest(view), dry_run: true })
    : kinora.videos.remix(view.remixOf, { ...readRemix(view), dry_run: true })

export const runAgain = (view: TaskView): Promise<Video> =>
  view.remixOf === null
    ? kinora.videos.create({ ...readRequest(view), dry_run: false })
    : kinora.videos.remix(view.remixOf, { ...readRemix(view), dry_run: false })
