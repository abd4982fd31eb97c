/** A gateway in this process whose only provider is the simulated vendor. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import type { Environment } from '../../src/config.ts'
import { startGateway, type SharedParts, type TestGateway } from './start-gateway.ts'

export interface VendorGateway extends TestGateway {
  vendor: Vendor
}

export const vendorKey = 'vendor-key-of-tests'

export const startVendorGateway = async (
  given: Environment = {},
  models: Record<string, Record<string, unknown>> = {},
  settings: Record<string, unknown> = {},
  shared?: SharedParts,
): Promise<VendorGateway> => {
  const vendor = await startVendor({ apiKey: vendorKey })
  const directory = await mkdtemp(join(tmpdir(), 'kinora-providers-'))
  const file = join(directory, 'providers.yaml')
  const provider = { kind: 'openai', baseUrl: vendor.url, apiKey: vendorKey, ...settings }
  await writeFile(file, JSON.stringify({ providers: { vendor: provider }, models }))
  const gateway = await startGateway({ PROVIDERS_FILE: file, ...given }, shared)
  return {
    ...gateway,
    vendor,
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]()
      await vendor.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
