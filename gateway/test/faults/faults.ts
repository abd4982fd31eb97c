import { clockFaults } from './clock-fault.ts'
import { databaseFaults } from './database-faults.ts'
import { downloadFaults } from './download-faults.ts'
import { engineFaults } from './engine-faults.ts'
import { overloadFaults } from './overload-fault.ts'
import { processFaults } from './process-faults.ts'
import type { Fault } from './run-fault.ts'
import { vendorFaults } from './vendor-faults.ts'

const table = {
  ...processFaults,
  ...databaseFaults,
  ...engineFaults,
  ...vendorFaults,
  ...downloadFaults,
  ...clockFaults,
  ...overloadFaults,
}

export type FaultName = keyof typeof table
export const faults: Record<FaultName, Fault> = table
export const faultNames = Object.keys(table) as FaultName[]
