/** `kinora voices`. */
import { connect } from '../connection/connect.ts'
import { printJson } from '../terminal/print.ts'
import { printTable } from '../terminal/text-table.ts'

export const listVoices = async (input: {
  model: string | undefined
  language: string | undefined
  json: boolean
  profile: string | undefined
}): Promise<void> => {
  const { kinora } = await connect(input)
  const list = await kinora.voices.list()
  const data = list.data.filter(
    ({ models, language }) =>
      (input.model === undefined || models.includes(input.model)) &&
      (input.language === undefined ||
        (language ?? '').toLowerCase().startsWith(input.language.toLowerCase())),
  )
  if (input.json) return printJson({ ...list, data })
  printTable(data, [
    { title: 'voice', cell: ({ name }) => name },
    { title: 'language', cell: ({ language }) => language ?? '' },
    { title: 'gender', cell: ({ gender }) => gender ?? '' },
    { title: 'models', cell: ({ models }) => models.join(' '), isFlexible: true },
  ])
}
