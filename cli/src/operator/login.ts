/** `kinora admin login`: opens the web console without asking for a key. */
import { Kinora } from '@kinora/client'

import { findDevService } from '../connection/dev-service.ts'
import { readTerminal } from '../connection/environment.ts'
import { findOperator, isOperatorKey, type OperatorInput } from '../connection/find-operator.ts'
import { defaultDataDirectory, findInEnvironment, type FoundService } from '../connection/find-service.ts'
import { canOpen, openLink } from '../terminal/open-file.ts'
import { print, printJson, tell } from '../terminal/print.ts'

/** The key of a customer of the same service. A key of another address may belong to another service. */
const findCustomerKey = async ({ url, source }: FoundService): Promise<string | undefined> => {
  if (source === 'OPERATOR_KEY') {
    const found = findInEnvironment()
    return found?.url === url && !isOperatorKey(found.key) ? found.key : undefined
  }
  const dev = source.startsWith('kinora dev') ? await findDevService(defaultDataDirectory) : undefined
  return dev?.url === url ? dev.key : undefined
}

export const openConsole = async ({
  noOpen,
  json,
  ...input
}: OperatorInput & { noOpen: boolean; json: boolean }): Promise<void> => {
  const operator = await findOperator(input)
  const customerKey = await findCustomerKey(operator)
  const kinora = new Kinora({ baseUrl: operator.url, apiKey: operator.key })
  const link = await kinora.console.links.create({
    keys: [operator.key, ...(customerKey === undefined ? [] : [customerKey])],
  })
  if (json) return printJson(link)
  print(link.url)
  const mayOpen = !noOpen && process.stdout.isTTY && !readTerminal().isCi && canOpen()
  const isOpen = mayOpen && (await openLink(link.url))
  tell(
    `${isOpen ? 'Opened it in the browser.' : 'Open it in a browser.'} It signs in once, within 5 minutes.`,
  )
}
