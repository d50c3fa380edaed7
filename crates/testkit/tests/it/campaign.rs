//! A small campaign; `sim --schedules` plays a large one.

use windlass_testkit::sim::SimCampaign;

#[test]
fn a_small_campaign_holds_and_gets_work_done() {
    let campaign = SimCampaign::play(0, 100);
    assert_eq!(campaign.failed, []);
    assert_eq!(campaign.schedules, 100);
    let (good, steps) = campaign.succeeded;
    assert!(good * 2 > steps, "{good} of {steps} steps succeeded");
}
