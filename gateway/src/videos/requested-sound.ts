import type { VideoModel } from '../models/model.ts'
import type { VideoOrder } from './task.ts'

/** Whether a video has sound. Only for some models the request decides, and then there is sound by default. */
export const requestedSound = (
  { sound }: VideoModel,
  given: boolean | undefined,
): Pick<VideoOrder, 'sound' | 'isSoundOptional'> =>
  sound === 'optional' ? { sound: given ?? true, isSoundOptional: true } : { sound: sound === 'always' }
