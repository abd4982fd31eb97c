import { operations } from '@kinora/contract/operations'

import { publicIdOf } from '../characters/character.ts'
import { createCharacter } from '../characters/create-character.ts'
import { deleteCharacter } from '../characters/delete-character.ts'
import { getCharacter } from '../characters/get-character.ts'
import { listCharacters } from '../characters/list-characters.ts'
import { createCharacterMaker, type MakerDependencies } from '../characters/make-character.ts'
import { renameCharacter } from '../characters/rename-character.ts'
import { showCharacter } from '../characters/show-character.ts'
import { createWithCharacter } from '../characters/with-character.ts'
import { recordAccountEvent } from '../events/account-event-store.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import { createSafeFetch } from '../safe-fetch/safe-fetch.ts'
import type { WithCharacter } from '../videos/requested-character.ts'
import type { ApiContext } from './api-context.ts'
import type { VideoTasks } from './videos.ts'

/** A video takes longer to download than an image. */
const fetchTimeoutMs = 240_000

/** Binds the operations of characters; also returns how a new video gets a character of its own. */
export const bindCharacters = (
  server: ApiServer,
  { config, postgres, mediaStore, spool, programs, links, fetchRate, log }: ApiContext,
  { readTask, images }: VideoTasks,
  diskSpace: MakerDependencies['diskSpace'],
): WithCharacter => {
  const characters = { database: postgres, links, publicUrl: config.publicUrl }
  const maker = createCharacterMaker({
    postgres,
    mediaStore,
    spool,
    safeFetch: createSafeFetch({
      allowOrigins: config.FETCH_ALLOW_ORIGINS,
      dnsServers: config.FETCH_DNS_SERVERS,
      minimumRate: fetchRate,
      totalTimeoutMs: fetchTimeoutMs,
    }),
    findLinkedFile: images.findLinkedFile,
    readTask,
    programs,
    waitMs: config.CHARACTER_WAIT_SECONDS * 1000,
    libraryMax: config.CHARACTERS_PER_ACCOUNT,
    diskSpace,
    recordCreated: (database, character) =>
      recordAccountEvent(database, {
        ...{ accountId: character.accountId, type: 'character.created', objectId: publicIdOf(character.id) },
        // What a customer wrote is deleted with the character, so the event does not have it.
        data: { id: publicIdOf(character.id), object: 'character' },
      }),
    log,
  })

  bindOperation(server, operations.createCharacter, createCharacter({ maker, ...characters }))
  bindOperation(server, operations.listCharacters, listCharacters(characters))
  bindOperation(server, operations.getCharacter, getCharacter(characters))
  bindOperation(server, operations.renameCharacter, renameCharacter(characters))
  bindOperation(server, operations.deleteCharacter, deleteCharacter({ postgres, mediaStore, log }))
  bindOperation(server, operations.showCharacter, showCharacter(characters))
  return createWithCharacter(maker)
}
