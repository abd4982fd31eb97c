/** Opens the client of the admin API, or that of the service for the customer's own account. */
import { Kinora } from '@kinora/client'
import { KinoraAdmin } from '@kinora/client/admin'

import { findAnyKey, findOperator, type OperatorInput } from './find-operator.ts'

export const connectOperator = async (input: OperatorInput): Promise<KinoraAdmin> => {
  const { url, key } = await findOperator(input)
  return new KinoraAdmin({ baseUrl: url, apiKey: key })
}

export type EitherClient = { admin: KinoraAdmin } | { admin: undefined; kinora: Kinora }

export const connectEither = async (input: OperatorInput): Promise<EitherClient> => {
  const { url, key, isOperator } = await findAnyKey(input)
  const options = { baseUrl: url, apiKey: key }
  return isOperator ? { admin: new KinoraAdmin(options) } : { admin: undefined, kinora: new Kinora(options) }
}
