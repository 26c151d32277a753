// The JavaScript client as conformance.py runs it: its address and fetch are arguments.

import { connect } from '../../Public/livefetch.js';
import { stringify } from '../../Public/livefetch/json.js';

const [, , address, fetch] = process.argv;
connect(address).live(JSON.parse(fetch), { onChange: (result) => console.log(stringify(result)) });
