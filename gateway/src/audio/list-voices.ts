import type { operations } from '@kinora/contract/operations'
import type { Voice as PresentedVoice } from '@kinora/contract/operations/audio'

import type { Caller } from '../auth/caller.ts'
import type { Handler } from '../http/call.ts'
import type { Catalog } from '../models/catalog.ts'
import { mayUseModel } from '../models/model-access.ts'
import type { ModelConfig, Voice } from '../models/model.ts'
import type { VoiceLinks } from './voice-sample.ts'

interface NamedVoices {
  /** The name for the parameter `model`. */
  model: string
  kind: ModelConfig['kind']
  voices: Voice[]
}

/** The voices of a model, and those that it has only under an alias, as far as the caller may use each name. */
const voicesOf = (caller: Caller, model: ModelConfig): NamedVoices[] => {
  if (!('voices' in model)) return []
  const { id, kind } = model
  const mayUse = mayUseModel(caller, model)
  const ofAliases = Object.entries(model.aliases).flatMap(([alias, { voices }]) =>
    mayUseModel(caller, { id, name: alias })
      ? { model: alias, kind, voices: voices ?? (mayUse ? [] : model.voices) }
      : [],
  )
  return [...(mayUse ? [{ model: id, kind, voices: model.voices }] : []), ...ofAliases]
}

/** Voices of one name are one voice, unless the configuration states different things about them. */
const identityOf = ({ name, language, gender, sample }: Voice) =>
  JSON.stringify([name, language, gender, sample])

export const listVoices =
  ({ catalog, links }: { catalog: Catalog; links: VoiceLinks }): Handler<typeof operations.listVoices> =>
  async ({ caller }) => {
    const found = new Map<string, PresentedVoice>()
    for (const { model, kind, voices } of catalog.available().flatMap((each) => voicesOf(caller, each))) {
      for (const voice of voices) {
        const { name, language, gender } = voice
        const listed = found.get(identityOf(voice)) ?? {
          ...({ name, object: 'voice', language, gender, models: [], sample: voice.sample } as const),
        }
        const sample = listed.sample ?? (kind === 'speech' ? links.link(model, name) : null)
        found.set(identityOf(voice), { ...listed, models: [...listed.models, model], sample })
      }
    }
    return { body: { object: 'list', data: [...found.values()] } }
  }
