/** The parameters of a create: from the options, and where they are missing from the model. */
import type { CreateVideoParams, Kinora, Model } from '@kinora/client'

import { UsageError } from '../frame/usage-error.ts'

export interface VideoInput {
  model: string | undefined
  seconds: number | undefined
  size: string | undefined
  image: string[]
}

const endpoint = '/v1/videos'

/** The first model that needs no image, or takes the given ones. Models with listed durations make videos of text alone. */
const chooseModel = async (kinora: Kinora, imageCount: number): Promise<Model> => {
  const { data } = await kinora.models.list()
  const usable = data.filter(
    ({ kind, endpoints, state, images }) =>
      kind === 'video' &&
      state === 'active' &&
      endpoints.includes(endpoint) &&
      (images?.max ?? 0) >= imageCount,
  )
  const found = usable.find(({ seconds }) => (seconds?.values ?? null) !== null) ?? usable[0]
  if (found !== undefined) return found
  throw new UsageError('The key may not use a model for this video. See kinora models list --kind video')
}

const readImage = (text: string): string | { path: string } =>
  /^(https?:|data:)/.test(text) ? text : { path: text }

export const prepareVideo = async (
  kinora: Kinora,
  prompt: string,
  { model, seconds, size, image }: VideoInput,
): Promise<CreateVideoParams> => {
  const isComplete = model !== undefined && seconds !== undefined && size !== undefined
  const chosen = isComplete
    ? undefined
    : model === undefined
      ? await chooseModel(kinora, image.length)
      : await kinora.models.get(model)
  const images = image.map(readImage)
  return {
    model: model ?? chosen?.id,
    prompt,
    seconds: seconds ?? chosen?.seconds?.values?.[0] ?? Math.max(4, chosen?.seconds?.min ?? 4),
    size: size ?? (chosen?.sizes?.find(({ width, height }) => width > height) ?? chosen?.sizes?.[0])?.size,
    ...(images.length > 0 && { input_reference: images.length === 1 ? images[0] : images }),
  } as CreateVideoParams
}
