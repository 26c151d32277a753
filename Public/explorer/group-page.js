// The part of the page that `GroupView` needs.

import { joined } from './predicate-text.js';

export function groupPage(page) {
  return { client: page.client, schema: page.schema, get view() { return page.view; }, joined,
    get where() { return page.finding.where; }, get isLive() { return page.isLive; },
    change: (patch) => page.change(patch), inspect: (request, result) => page.inspector.show({
      request, result, traffic: page.traffic, schema: page.schema, isLive: page.isLive }) };
}
