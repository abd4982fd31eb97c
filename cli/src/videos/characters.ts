/** `kinora characters`. */
import type { Character } from '@kinora/client'

import { connect } from '../connection/connect.ts'
import { UsageError } from '../frame/usage-error.ts'
import { print, printJson, tell } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'
import { confirmDeletion } from './show.ts'

interface CommonInput {
  json: boolean
  profile: string | undefined
}

const showCharacter = (character: Character, json: boolean): void => {
  if (json) return printJson(character)
  print(`@${character.username}`)
  tell(`Character ${character.id}: write @${character.username} in a prompt.`)
}

export const createCharacter = async (
  input: CommonInput & {
    url: string | undefined
    fromVideo: string | undefined
    timestamps: string | undefined
  },
): Promise<void> => {
  const { url, fromVideo, timestamps } = input
  if ((url === undefined) === (fromVideo === undefined)) {
    throw new UsageError('Give either --url or --from-video.')
  }
  const { kinora } = await connect(input)
  const character = await kinora.characters.create({
    ...(url !== undefined && { url }),
    ...(fromVideo !== undefined && { from_task: fromVideo }),
    ...(timestamps !== undefined && { timestamps }),
  })
  showCharacter(character, input.json)
}

export const listCharacters = async (input: CommonInput & { limit: number }): Promise<void> => {
  const { kinora } = await connect(input)
  const page = await kinora.characters.list({ limit: input.limit })
  if (input.json) return printJson(page)
  printTable(page.data, [
    { title: 'id', cell: ({ id }) => id },
    { title: 'name', cell: ({ username }) => `@${username}` },
    { title: 'page', cell: ({ permalink }) => permalink, isFlexible: true },
  ])
}

export const renameCharacter = async (input: CommonInput & { id: string; name: string }): Promise<void> => {
  const { kinora } = await connect(input)
  const username = input.name.replace(/^@/, '')
  showCharacter(await kinora.characters.rename(input.id, { username }), input.json)
}

export const deleteCharacter = async (input: CommonInput & { id: string; yes: boolean }): Promise<void> => {
  if (!(await confirmDeletion(`the character ${input.id}`, input.yes))) return tell('Nothing was deleted.')
  const { kinora } = await connect(input)
  const deleted = await kinora.characters.delete(input.id)
  if (input.json) return printJson(deleted)
  print(`Deleted ${deleted.id}.`)
}
