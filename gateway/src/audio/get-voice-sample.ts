import { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Catalog } from '../models/catalog.ts'
import type { ReadVoiceSample, VoiceLinks } from './voice-sample.ts'

export const getVoiceSample =
  ({
    catalog,
    links,
    readVoiceSample,
  }: {
    catalog: Catalog
    links: VoiceLinks
    readVoiceSample: ReadVoiceSample
  }): Handler<typeof operations.getVoiceSample> =>
  async ({ path, url }) => {
    const { model: name, voice } = path
    links.check(name, voice, url.slice(url.indexOf('?') + 1))
    const model = catalog.find(name)
    // The configuration may have changed since the link was made.
    if (model.kind !== 'speech' || !model.voices.some((each) => each.name === voice)) {
      throw new ApiError('media_not_found')
    }
    const bytes = await readVoiceSample(model, voice)
    return {
      headers: {
        'content-type': 'audio/mpeg',
        'content-length': String(bytes.length),
        'cache-control': 'private, max-age=3600',
        'cross-origin-resource-policy': 'cross-origin',
      },
      body: Readable.from([bytes]),
    }
  }
